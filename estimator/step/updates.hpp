#pragma once

#include <vector>

#include "estimator/layers/job.hpp"
#include "estimator/layers/layer_costs.hpp"
#include "estimator/plan/plan.hpp"
#include "estimator/step/step.hpp"

namespace ddl {

/// Returns the time in which a rank's optimizer updates the parameters of these layers.
[[nodiscard]] Seconds optimizer_time(const Plan& plan, const LayerCosts& layers);

/// The same for a range of layers, each with its ZeRO stage.
[[nodiscard]] Seconds optimizer_time(const Plan& plan, const LayerCostTable& costs, const LayerRange& layers);

/// Returns the work that each stage does once per step, with its times: the update, and the
/// exchanges of gradients and weights. `firsts`: the first layer of each stage, and the layer
/// count. If the costs have slopes, the times have derivatives.
[[nodiscard]] Updates updates_of(const Job& job, const Plan& plan, const LayerCostTable& costs,
                                 const std::vector<int>& firsts);

}  // namespace ddl
