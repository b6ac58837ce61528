#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "profiler/profiles/profile_file.hpp"

namespace ddl {

struct MergedProfile {
  Profile profile{};
  std::int64_t missing_problems = 0;  ///< of the shards that are there
  std::vector<int> missing_shards{};  ///< their indices
};

/// Makes one profile of the shards that several processes measured (profiler/profiles/shard.hpp): the one that a single
/// process would have written, but for the times. Rows stand in the order of the plan. Of what the heads may differ in,
/// hosts and the state of the devices (clocks, temperature), each value is listed; the date is the last one.
///
/// Throws Error, placed in the file, on what is no shard, a shard that is given twice, one of another device, set of
/// libraries, model, state of the caches or layout, and one of another plan, that is of other problems or precisions. Where
/// shards are missing or lack problems it throws unless `partial`.
[[nodiscard]] MergedProfile merge_profiles(const std::vector<std::string>& paths, bool partial);

}  // namespace ddl
