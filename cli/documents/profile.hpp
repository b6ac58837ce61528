#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "calibration/inputs/split_scaling.hpp"
#include "cli/report/report.hpp"
#include "profiler/profiles/profiling.hpp"

namespace ddl {

/// What came of measuring.
struct ProfileResult {
  Profile profile;
  std::vector<std::size_t> asked;  ///< rows of it that answer this question: an earlier one may have left others
  std::string output;
  std::size_t items = 0, known = 0, left = 0;  ///< asked for; of these known before, and not measured yet
  int merged_shards = 0;                       ///< of which the profile was put together; 0: it was measured
  bool stopped = false;
  double seconds = 0;
  std::vector<std::string> warnings;
  Steadiness steadiness;
  std::vector<SumCheck> sum_checks;
  std::vector<SplitScaling> splits;
};

/// What `profile` says of what it measured: counts, what was refused, how steady the device was, the check of the sum, and
/// what splits cost. Its exit status says whether problems are left.
[[nodiscard]] Report profile_report(const std::shared_ptr<const ProfileResult>& result);

}  // namespace ddl
