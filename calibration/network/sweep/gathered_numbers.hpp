#pragma once

#include <vector>

#include "calibration/network/sweep/processes.hpp"

namespace ddl {

/// What each process says, by rank: exactly the numbers they gave.
[[nodiscard]] std::vector<double> gather_numbers(Processes& processes, double mine);

}  // namespace ddl
