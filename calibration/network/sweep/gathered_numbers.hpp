#pragma once

#include <vector>

#include "calibration/network/sweep/processes.hpp"

namespace ddl {

/// Gathers the numbers of all processes, by rank, without loss of precision.
[[nodiscard]] std::vector<double> gather_numbers(Processes& processes, double mine);

}  // namespace ddl
