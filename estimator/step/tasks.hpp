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

/// What a stage does in every micro-batch, all of it or that of a single layer.
struct StageWork {
  const LayerCosts& costs;
  const LayerCosts* again = nullptr;  ///< the costs of the blocks that are recomputed as a whole; null if there are none
  double hidden_of_experts = 0;       ///< of the All-to-alls of experts, the part that is overlapped (overlaps.hpp)
};
/// Adds the tasks of a stage. Backward begins with the recomputed part of forward, including its communication. `origin`:
/// the coefficients that the costs were estimated with, where tasks are to say how they change with them; without, every
/// time is taken as it is.
void add_tasks(const StageWork& work, int stage, const Plan& plan, const Learned* origin, std::vector<Task>& tasks);

}  // namespace ddl
