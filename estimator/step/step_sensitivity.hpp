#pragma once

#include <vector>

#include "estimator/inputs/sensitivity.hpp"
#include "estimator/inputs/time_errors.hpp"
#include "estimator/plan/plan.hpp"
#include "estimator/step/estimate.hpp"

namespace ddl {

/// Returns the sources of error that the time of a plan depends on, and how much it depends on each
/// source. The shape of the plan must be possible. Reports use this function; a search does not.
[[nodiscard]] TimeSensitivity sensitivity(const Estimator& estimator, const Plan& plan);
/// Sets Estimate::interval and Estimate::sensitivity of plans that have a time.
void add_intervals(const Estimator& estimator, Estimate& estimate, const TimeErrors& errors);
void add_intervals(const Estimator& estimator, std::vector<Estimate>& estimates, const TimeErrors& errors);

}  // namespace ddl
