#pragma once

#include <optional>
#include <vector>

#include "core/quantity.hpp"
#include "estimator/explain/explanation.hpp"
#include "estimator/layers/job.hpp"

namespace ddl {

/// The share of the power limit that a device draws on average, by what it does.
struct PowerShares {
  double products = 1.0;  ///< matrix products and convolutions [Patel et al., arXiv 2308.12908: training reaches the TDP]
  double memory = 0.5;    ///< other kernels, whose time memory determines [Patel et al., "Splitwise", ISCA 2024: the
                          ///< memory-bound phase is as fast with half of the power limit]
  double communication = 0.5;  ///< exposed exchanges [Patel et al., arXiv 2308.12908: GPT-NeoX between its steps]
  double waiting = 0.2;        ///< waiting with a context [Patel et al., arXiv 2308.12908: Flan-T5 between its steps]
};

/// Returns the average power of a plan. Empty if no time is predicted, or if the power limit of the device is unknown.
[[nodiscard]] std::optional<Power> power_of(const Job& job, const Explanation& explanation, const PowerShares& shares = {});
/// Sets the power of estimates with a predicted time.
void add_power(std::vector<Estimate>& estimates, const Estimator& estimator);

/// Returns the energy in joules that a plan uses in this time: that of whole nodes if their power is known, else that of the
/// devices, times the PUE. Zero if the power is unknown.
[[nodiscard]] double energy_of(const Job& job, const Estimate& estimate, Seconds time);

}  // namespace ddl
