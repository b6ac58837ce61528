#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "calibration/split_scaling.hpp"
#include "cli/options/profile_job.hpp"
#include "profiler/profiling.hpp"

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
  std::vector<Closure> closures;
  std::vector<SplitScaling> splits;
};

/// Measures what is asked for, row by row into the output. Throws Error where the device cannot be used, where it runs none
/// of the problems, and where the output is another profile's.
[[nodiscard]] ProfileResult run(ProfileJob job, const std::string& command);

}  // namespace ddl
