#pragma once

#include "estimator/layers/job.hpp"
#include "estimator/layers/layer_costs.hpp"
#include "estimator/plan/plan.hpp"

namespace ddl {

/// One stage of a plan on a rank: layers [first, last), and the costs of the rank's shards of these
/// layers. The structure holds references to the job, the plan and the costs.
struct StageOf {
  const Job& job;
  const Plan& plan;
  const LayerCostTable& costs;
  int first = 0, last = 0;
  int stage = 0;     ///< number of the stage
  double parts = 1;  ///< number of parameters on the rank, divided by the number of parameters of the layers

  /// Returns this stage under the plan `other`, which must outlive the result.
  [[nodiscard]] StageOf with(const Plan& other) const { return {job, other, costs, first, last, stage, parts}; }
  [[nodiscard]] const LayerCosts& all_costs() const { return costs.between(first, last); }
};

}  // namespace ddl
