#pragma once

#include "estimator/step/estimate.hpp"

namespace ddl {

/// Returns the time of the forward passes of a step's samples, as in an evaluation with the plan. A step without the update,
/// the exchange of gradients and the waiting for the host is distributed by the share of forward in the time of kernels.
/// Waiting for the host is that of forward, because backward has other launches. Zero without a predicted time.
[[nodiscard]] Seconds forward_only_time(const Estimate& estimate);

}  // namespace ddl
