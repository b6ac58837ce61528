#pragma once

#include <vector>

#include "estimator/inputs/machine.hpp"
#include "estimator/kernels/device_kernels.hpp"

namespace ddl {

/// The rate in training of kernels that were measured alone, as a fraction of the rate alone. `alone`: that rate, as a
/// fraction of the peak.
[[nodiscard]] double sustained_part(const Device& device, KernelKind kind, Precision precision, double alone);

/// Sets the constants of the clock of a family of repeated kernels, if its formula has them. Alone, there is no limit. In
/// training, the clock does not recover between kernels.
void limit_clock(std::vector<double>& constants, KernelKind kind, const Device& device, Precision precision,
                 Conditions conditions);

}  // namespace ddl
