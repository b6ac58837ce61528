#pragma once

#include "estimator/step/step.hpp"

namespace ddl {

/// Returns the time of the forward passes of a step's samples, as in an evaluation with the plan: the step without the
/// update and without the exchange of gradients, by the share of forward in the time of kernels. Zero without a predicted
/// time.
[[nodiscard]] Seconds forward_only_time(const Breakdown& time);

}  // namespace ddl
