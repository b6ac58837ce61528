#pragma once

#include <vector>

#include "estimator/exchanges/gradient_exchange.hpp"
#include "estimator/layers/job.hpp"
#include "estimator/layers/layer_costs.hpp"
#include "estimator/plan/plan.hpp"

namespace ddl {

/// Gradients of layers of a stage that have one ZeRO stage.
struct HeldGradients {
  Plan plan;  ///< with this ZeRO stage for all layers
  ExchangedBytes each;
  std::vector<GradientGroup> groups;
  GradientExchange exchange;  ///< exchange of all groups
  [[nodiscard]] Bytes message(const GradientGroup& group) const { return Bytes(group.parameters * each.gradient); }
  [[nodiscard]] Bytes weights(const GradientGroup& group) const { return gathered_weights(plan, each, group); }
};

/// Returns the gradients of a stage by the ZeRO stages of its layers. `firsts`: the first layer of each stage, and the layer
/// count.
[[nodiscard]] std::vector<HeldGradients> held_gradients(const Job& job, const Plan& plan, const LayerCostTable& costs,
                                                        const std::vector<int>& firsts, int stage);

}  // namespace ddl
