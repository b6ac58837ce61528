#pragma once

#include <string>

#include "calibration/network/sweep/transports/simulated/network.hpp"

namespace ddl {

/// Maximum number of ranks that one process simulates.
inline constexpr int most_simulated_ranks = 4096;

/// Parses the parameters of a SimulatedNetwork: `ranks=8 nodes=2 latency=5 us bandwidth=12.5 GB/s rails=1 noise=0.01 seed=1`
/// and others, including `protocols=LL:0.3:0.25:64 KiB/Simple:1:1`. Parameters may be in any order; missing ones keep the
/// defaults. `origin` is printed in errors, which point to the wrong word.
[[nodiscard]] SimulatedNetwork parse_simulated_network(const std::string& text, const std::string& origin);

}  // namespace ddl
