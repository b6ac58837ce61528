#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "profiler/profiles/profile_file.hpp"

namespace ddl {

struct MergedProfile {
  Profile profile{};
  std::int64_t missing_problems = 0;  ///< missing problems of the shards that are present
  std::vector<int> missing_shards{};  ///< indices of missing shards
};

/// Merges the shards that several processes measured (profiler/profiles/shard.hpp) into the profile that a single process
/// would have written, except for the times. Rows are in the order of the plan. Heads may differ in the hosts and the state
/// of the devices (clocks, temperature); the merged head lists each distinct value. The date is the last one.
///
/// Throws Error, placed in the file, for a file that is not a shard, for a repeated shard, and for a shard with another
/// device, set of libraries, model, cache state or layout, or of a plan with other problems or precisions. If shards are
/// missing or lack problems, it throws unless `partial`.
[[nodiscard]] MergedProfile merge_profiles(const std::vector<std::string>& paths, bool partial);

}  // namespace ddl
