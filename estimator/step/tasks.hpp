#pragma once

#include <vector>

#include "estimator/step/layer_costs.hpp"
#include "estimator/step/step.hpp"

namespace ddl {

/// Adds what a stage does in every micro-batch for layers of these costs, all of it or that of a single layer. `recomputes`:
/// backward begins with forward, its exchanges included. `origin`: the coefficients that the costs were priced with, where
/// tasks are to say how they change with them; without, every time is taken as it is.
void add_tasks(const LayerCosts& costs, int stage, bool recomputes, const Learned* origin, std::vector<Task>& tasks);

}  // namespace ddl
