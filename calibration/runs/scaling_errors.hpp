#pragma once

#include <map>
#include <span>
#include <string>

#include "calibration/runs/validation.hpp"

namespace ddl {

/// The errors of predicted weak scaling. The efficiency of data parallelism is relative to a
/// reference run with equal samples per device and no other difference. The reference is the run on
/// the smallest number of devices. An error is predicted efficiency / measured efficiency − 1. If
/// times are predicted with the same error on all numbers of devices, the efficiency has no error.
struct ScalingErrors {
  int runs = 0;              ///< number of runs that have a reference run
  double mean_absolute = 0;  ///< mean of the absolute errors
  double median_absolute = 0;
};

/// The errors of all cases (`overall`), and the errors by the values of a column of runs
/// (`groups`). A value is left out if none of its runs has a reference run.
struct ScalingSummary {
  ScalingErrors overall;
  std::map<std::string, ScalingErrors> groups;
};
[[nodiscard]] ScalingSummary scaling_errors(std::span<const ValidationCase> cases, const std::string& by);

}  // namespace ddl
