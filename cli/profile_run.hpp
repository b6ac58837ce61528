#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "calibration/split_scaling.hpp"
#include "cli/profile_job.hpp"
#include "profiler/profiling.hpp"

namespace ddl {

/// What came of measuring.
struct ProfileResult {
  Profile profile;
  std::string output;
  std::size_t items = 0, known = 0, left = 0;
  std::vector<int> dead;
  bool stopped = false, elsewhere = false;
  double seconds = 0;
  Steadiness steadiness;
  std::vector<Closure> closures;
  std::vector<SplitScaling> splits;
};

/// Measures what is asked for on a device of its own, row by row into the output. Throws Error where there is none, where it
/// runs none of the problems, and where the output is another profile's.
[[nodiscard]] ProfileResult run(const ProfileJob& asked, const ProfileOptions& o, const std::string& command);

}  // namespace ddl
