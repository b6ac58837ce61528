#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "calibration/inputs/split_scaling.hpp"
#include "cli/report/report.hpp"
#include "profiler/profiles/profiling.hpp"

namespace ddl {

/// The result of measuring or merging a profile.
struct ProfileResult {
  Profile profile;
  std::vector<std::size_t> asked;  ///< rows of the requested problems; earlier commands may have added more rows
  std::string output;
  std::size_t items = 0, known = 0, left = 0;  ///< numbers of kernels: requested, measured before, left to measure
  int merged_shards = 0;                       ///< number of merged shards; 0 for a measurement
  bool stopped = false;
  double seconds = 0;
  std::vector<std::string> warnings;
  Steadiness steadiness;
  std::vector<SumCheck> sum_checks;
  std::vector<SplitScaling> splits;
};

/// Returns the report of `profile`: counts, refused problems, steadiness of the device, sum check, and the cost of splits.
/// The exit status of the report shows whether problems are left to measure.
[[nodiscard]] Report profile_report(const std::shared_ptr<const ProfileResult>& result);

}  // namespace ddl
