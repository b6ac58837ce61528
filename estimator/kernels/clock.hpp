#pragma once

#include <vector>

#include "estimator/inputs/machine.hpp"
#include "estimator/kernels/device_kernels.hpp"

namespace ddl {

/// The share of the power limit that a device draws on average, by what it does.
struct PowerShares {
  double products = 1.0;  ///< matrix products and convolutions [Patel et al., arXiv 2308.12908: training reaches the TDP]
  double memory = 0.5;    ///< other kernels, whose time memory determines [Patel et al., "Splitwise", ISCA 2024: the
                          ///< memory-bound phase is as fast with half of the power limit]
  double communication = 0.5;  ///< exposed exchanges [Patel et al., arXiv 2308.12908: GPT-NeoX between its steps]
  double waiting = 0.2;        ///< waiting with a context [Patel et al., arXiv 2308.12908: Flan-T5 between its steps]
};

/// The smallest power limit that can be set, as a share of the device's own: less than 100 of 300 W of A40 [You et al.,
/// "Zeus", NSDI 2023] and 200 of 700 W of H100 [arXiv 2604.11391].
inline constexpr double least_power_limit = 0.25;

/// What a kernel draws and how fast it runs at the device's own power limit.
struct KernelPower {
  double drawn = 1;  ///< share of the limit
  double clock = 1;  ///< part of the largest clock
};

/// Returns the clock at which a device reaches its least voltage, as a part of its largest clock; zero if its clock is
/// unknown. `cycle_rate`: cycles of all its multiprocessors per second, at the largest clock.
[[nodiscard]] double clock_of_least_voltage(const Device& device, double cycle_rate);

/// Returns how many times as long a kernel takes if the power limit of its device is reduced to this share. `least_voltage`:
/// the clock at which the device reaches its least voltage.
[[nodiscard]] double slower_under(double limit, const KernelPower& kernel, double least_voltage);

/// Returns the rate in training of kernels that were measured alone, divided by the measured rate. `alone`: the measured
/// rate, as a fraction of the peak.
[[nodiscard]] double sustained_part(const Device& device, KernelKind kind, Precision precision, double alone);

/// Sets the constants of the clock of a family of repeated kernels, if its formula has them. A kernel that runs alone has no
/// limit. In training, the clock does not recover between kernels. Returns the clock in training, as a part of the largest
/// one.
double limit_clock(std::vector<double>& constants, KernelKind kind, const Device& device, Precision precision,
                   Conditions conditions);

}  // namespace ddl
