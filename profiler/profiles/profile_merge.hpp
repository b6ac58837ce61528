#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "profiler/profiles/profile_file.hpp"

namespace ddl {

struct MergedProfile {
  Profile profile{};
  std::int64_t missing_problems = 0;  ///< number of missing problems of the shards that are present
  std::vector<int> missing_shards{};  ///< indices of missing shards
};

/// Merges the shards that several processes measured (profiler/profiles/shard.hpp) into one profile. Except for the times,
/// it equals the profile of a single process. Rows are in the order of the plan. Headers may differ in the hosts and the
/// state of the devices (clocks, temperature); the merged header lists each distinct value. The date is the last one.
///
/// Throws Error with a position in the file if a file is not a shard, if a shard is repeated, or if shards differ in device,
/// libraries, model, cache state, layout, or in the problems or precisions of the whole plan. Unless `partial`, also throws
/// if shards are missing or lack problems.
[[nodiscard]] MergedProfile merge_profiles(const std::vector<std::string>& paths, bool partial);

}  // namespace ddl
