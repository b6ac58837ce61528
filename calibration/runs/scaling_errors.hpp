#pragma once

#include <map>
#include <span>
#include <string>

#include "calibration/runs/validation.hpp"

namespace ddl {

/// How far predictions are from measured weak scaling: the efficiency of data parallelism on more devices, relative to the
/// runs of the fewest devices that are alike but for their number, with the same samples on each device. An error is the
/// predicted efficiency over the measured one, − 1; errors of the network's own time cancel out of it.
struct ScalingErrors {
  int runs = 0;              ///< that have such a reference run
  double mean_absolute = 0;  ///< of the errors
  double median_absolute = 0;
};

/// Of all cases, and by the values of that column of runs. Values without such a pair are left out.
struct ScalingSummary {
  ScalingErrors overall;
  std::map<std::string, ScalingErrors> groups;
};
[[nodiscard]] ScalingSummary scaling_errors(std::span<const ValidationCase> cases, const std::string& by);

}  // namespace ddl
