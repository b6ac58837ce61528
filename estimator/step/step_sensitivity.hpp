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

/// A factor on all times of a source of error. Kernels of all kinds and updates of weights are one source, memory_kernels.
struct SourceFactor {
  ErrorSource source{};
  double factor = 1;
};
inline constexpr double most_source_factor = 100;
/// Returns the factors that alone make the step of a plan `ratio` times as long, for ratios other than 1. Leaves out a
/// source if no factor from 1 / most_source_factor to most_source_factor does so.
[[nodiscard]] std::vector<SourceFactor> factors_for(const Estimator& estimator, const Plan& plan, double ratio);

/// Sets Estimate::interval and Estimate::sensitivity of plans that have a time.
void add_intervals(const Estimator& estimator, Estimate& estimate, const TimeErrors& errors);
void add_intervals(const Estimator& estimator, std::vector<Estimate>& estimates, const TimeErrors& errors);

}  // namespace ddl
