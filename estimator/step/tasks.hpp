#pragma once

#include <vector>

#include "estimator/step/layer_costs.hpp"
#include "estimator/step/step.hpp"

namespace ddl {

/// Returns whether backward computes the forward of a layer again: of each with full recomputation, of attention with
/// selective [Kort22, section 5].
[[nodiscard]] bool runs_again(const Plan& plan, const Operation& operation);

/// Adds what a stage does in every micro-batch for layers of these costs, all of it or that of a single layer. `recompute`:
/// backward begins with what of forward is computed again, its exchanges included. `origin`: the coefficients that the costs
/// were priced with, where tasks are to say how they change with them; without, every time is taken as it is.
void add_tasks(const LayerCosts& costs, int stage, Recompute recompute, const Learned* origin, std::vector<Task>& tasks);

}  // namespace ddl
