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
  /// The layers of the mirror stage at the other end of the pipeline, if the rank holds that stage, too
  /// (ScheduleOrder::keeps_two_parts); empty otherwise.
  int mirror_first = 0, mirror_last = 0;

  /// Returns this stage under the plan `other`, which must outlive the result.
  [[nodiscard]] StageOf with(const Plan& other) const {
    return {job, other, costs, first, last, stage, parts, mirror_first, mirror_last};
  }
  [[nodiscard]] bool has_mirror() const { return mirror_last > mirror_first; }
  [[nodiscard]] StageOf mirror() const {
    return {job, plan, costs, mirror_first, mirror_last, plan.mesh[Axis::pipeline] - 1 - stage};
  }
  [[nodiscard]] const LayerCosts& all_costs() const { return costs.between(first, last); }
};

}  // namespace ddl
