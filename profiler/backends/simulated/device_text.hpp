#pragma once

#include <string>

#include "profiler/backends/simulated/backend.hpp"

namespace ddl {

/// Reads `peak=10 TFLOP/s bandwidth=500 GB/s latency=5 us noise=0.01 seed=1`: any of them, in any order; those left out are
/// as SimulatedDevice has them. `origin` is printed in errors, which are placed at the word that is wrong: an unknown or
/// repeated figure, a malformed quantity, one that is out of range.
[[nodiscard]] SimulatedDevice parse_simulated_device(const std::string& text, const std::string& origin);
/// Text that is read back as the same device.
[[nodiscard]] std::string print_simulated_device(const SimulatedDevice& device);

}  // namespace ddl
