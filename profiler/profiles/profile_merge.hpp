#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "profiler/profiles/profile_file.hpp"

namespace ddl {

struct MergedProfile {
  Profile profile{};
  std::int64_t missing_problems = 0;  ///< of the shards that are present
  std::vector<int> missing_shards{};  ///< their indices
};

/// Merges the shards that several processes measured (profiler/profiles/shard.hpp) into the profile that a single process
/// would have written, except for the times. Rows are in the order of the plan. Where the heads may differ, that is hosts
/// and the state of the devices (clocks, temperature), each value is listed; the date is the last one.
///
/// Throws Error, placed in the file, for a file that is not a shard, a shard that is given twice, one of another device, set
/// of libraries, model, state of the caches or layout, and one of another plan, with other problems or precisions. If shards
/// are missing or lack problems it throws unless `partial`.
[[nodiscard]] MergedProfile merge_profiles(const std::vector<std::string>& paths, bool partial);

}  // namespace ddl
