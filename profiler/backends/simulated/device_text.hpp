#pragma once

#include <string>

#include "profiler/backends/simulated/backend.hpp"

namespace ddl {

/// Parses the parameters of a simulated device: `peak=10 TFLOP/s bandwidth=500 GB/s latency=5 us noise=0.01 seed=1`. Keys
/// may be in any order; missing ones keep the defaults of SimulatedDevice. `origin` is printed in errors. Throws Error that
/// points to the wrong word, for an unknown or repeated key, a malformed quantity, or a value out of range.
[[nodiscard]] SimulatedDevice parse_simulated_device(const std::string& text, const std::string& origin);

}  // namespace ddl
