#pragma once

#include <optional>
#include <vector>

#include "core/quantity.hpp"
#include "estimator/explain/explanation.hpp"
#include "estimator/kernels/clock.hpp"
#include "estimator/layers/job.hpp"

namespace ddl {

/// Returns the average power of a plan. Empty if no time is predicted, or if the power limit of the device is unknown.
[[nodiscard]] std::optional<Power> power_of(const Job& job, const Explanation& explanation, const PowerShares& shares = {});
/// Sets the power of estimates with a predicted time.
void add_power(std::vector<Estimate>& estimates, const Estimator& estimator);

/// Returns the energy in joules that a plan uses in this time: that of whole nodes if their power is known, else that of the
/// devices, times the PUE. Zero if the power is unknown.
[[nodiscard]] double energy_of(const Job& job, const Estimate& estimate, Seconds time);

}  // namespace ddl
