#pragma once

#include <vector>

#include "estimator/layers/layer_costs.hpp"
#include "estimator/schedules/schedule.hpp"
#include "estimator/step/step.hpp"

namespace ddl {

/// Returns the parts of a stage's passes for which the longest stage waits, under the schedule of a plan.
[[nodiscard]] BubbleShares bubble_shares(const Plan& plan);

/// Returns the costs of the layers whose parameters the rank of a stage has: those of the stage; with DualPipe, also those
/// of the stage as far from the other end. `firsts`: the first layer of each stage, and the layer count.
[[nodiscard]] LayerCosts held_costs(const LayerCostTable& costs, const Plan& plan, const std::vector<int>& firsts,
                                    int stage);

/// Adds what a stage does in every micro-batch for layers of these costs, all of it or that of a single layer. Backward
/// begins with the recomputed part of forward, including its communication. `again`: the costs of the blocks that are
/// recomputed as a whole; empty if there are none. `origin`: the coefficients that the costs were priced with,
/// where tasks are to say how they change with them; without, every time is taken as it is.
void add_tasks(const LayerCosts& costs, const LayerCosts* again, int stage, const Plan& plan, const Learned* origin,
               std::vector<Task>& tasks);

}  // namespace ddl
