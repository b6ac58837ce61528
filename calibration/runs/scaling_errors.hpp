#pragma once

#include <map>
#include <span>
#include <string>

#include "calibration/runs/validation.hpp"

namespace ddl {

/// The errors of predictions of measured weak scaling: the efficiency of data parallelism on more devices, relative to runs
/// on the fewest devices that differ only in their number and have the same samples on each device. An error is the
/// predicted efficiency divided by the measured one, − 1. Errors that are equal on all numbers of devices cancel out.
struct ScalingErrors {
  int runs = 0;              ///< runs that have such a reference run
  double mean_absolute = 0;  ///< mean of the absolute errors
  double median_absolute = 0;
};

/// The errors of all cases, and by the values of that column of runs. Values without such a pair are left out.
struct ScalingSummary {
  ScalingErrors overall;
  std::map<std::string, ScalingErrors> groups;
};
[[nodiscard]] ScalingSummary scaling_errors(std::span<const ValidationCase> cases, const std::string& by);

}  // namespace ddl
