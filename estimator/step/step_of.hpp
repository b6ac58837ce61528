#pragma once

#include <vector>

#include "estimator/layers/layer_costs.hpp"
#include "estimator/memory/stage_memories.hpp"
#include "estimator/plan/plan.hpp"
#include "estimator/step/step.hpp"

namespace ddl {

/// Returns the step of a possible plan, without update and gradient exchange. `firsts`: the first layer of every stage, and
/// the layer count. If the costs have slopes, the step's times have derivatives with respect to the coefficients.
[[nodiscard]] Step step_of(const StageMemories& memories, const Plan& plan, const LayerCostTable& costs,
                           const std::vector<int>& firsts);

/// Returns whether, with the schedule of a plan, all passes of a stage wait for the same share of the passes of other
/// stages, and the schedule changes no task in another way.
[[nodiscard]] bool waits_alike(const Job& job, const Plan& plan);

/// Returns the step of a plan, given the step of a plan that differs only in its schedule and in its number of virtual
/// stages. waits_alike() must hold for both plans.
[[nodiscard]] Step in_chunks(const Job& job, const Plan& plan, Step step);

/// Sets for what a step waits: ranks, workers and the framework. `learned`: the coefficients of the plan's family.
/// `is_fitted`: whether the step is fitted to measured runs of this family.
void set_waiting(const Job& job, const Plan& plan, const Learned& learned, bool is_fitted, Step& step);

/// Returns whether sharded weights are gathered for each forward and backward. The host launches kernels for these gathers.
[[nodiscard]] bool gathers_weights(const Plan& plan);

/// Returns whether the software of a plan allocates managed memory. Smaller micro-batches may then
/// save time, because tensors beyond the device's memory are copied from the host.
[[nodiscard]] bool may_page(const Job& job, const Plan& plan);

}  // namespace ddl
