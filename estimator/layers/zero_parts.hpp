#pragma once

#include <vector>

#include "estimator/layers/layer_costs.hpp"
#include "estimator/plan/plan.hpp"

namespace ddl {

/// Layers of a stage that have one ZeRO stage.
struct ZeroPart {
  Plan plan;                       ///< the plan with this ZeRO stage for all layers
  std::vector<LayerRange> ranges;  ///< in the order of the layers
  [[nodiscard]] bool contains(int layer) const;
};

/// Divides layers [first, last) by their ZeRO stages, in the order of their first layers.
[[nodiscard]] std::vector<ZeroPart> zero_parts(const Plan& plan, int first, int last);

/// Returns the sum of the costs of the layers of a part.
[[nodiscard]] LayerCosts costs_of(const LayerCostTable& costs, const ZeroPart& part);

/// Returns the number of the model's blocks in the ranges of a part.
[[nodiscard]] double blocks_of(const ModelFacts& facts, const ZeroPart& part);

}  // namespace ddl
