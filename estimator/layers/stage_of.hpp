#pragma once

#include "estimator/layers/job.hpp"
#include "estimator/layers/layer_costs.hpp"
#include "estimator/plan/plan.hpp"

namespace ddl {

/// Layers [first, last) on a rank of one stage of a plan, with the costs of the rank's part of them. It refers to its parts.
struct StageOf {
  const Job& job;
  const Plan& plan;
  const LayerCostTable& costs;
  int first = 0, last = 0;
  int stage = 0;     ///< its number
  double parts = 1;  ///< the rank's parameters, as a multiple of those of the layers

  /// Returns the same layers under other choices of the plan. `other` must outlive the result.
  [[nodiscard]] StageOf with(const Plan& other) const { return {job, other, costs, first, last, stage, parts}; }
  [[nodiscard]] LayerCosts all_costs() const { return costs.between(first, last); }
};

}  // namespace ddl
