#pragma once

#include "estimator/step/estimate.hpp"

namespace ddl {

/// Returns the time of the forward passes of a step's samples, as in an evaluation with the plan. The step, without update,
/// gradient exchange and waiting for the host, is multiplied by forward's share of the kernel time. Then the waiting for the
/// host in forward is added, because backward has other launches. Zero without a predicted time.
[[nodiscard]] Seconds forward_only_time(const Estimate& estimate);

}  // namespace ddl
