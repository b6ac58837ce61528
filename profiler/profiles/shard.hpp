#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "profiler/profiles/profiling.hpp"

namespace ddl {

/// One of `count` parts into which the problems of a plan are dealt, so that as many processes can measure them.
struct Shard {
  int index = 0, count = 1;  ///< 0 ≤ index < count
  [[nodiscard]] bool operator==(const Shard&) const = default;
};
/// Reads `3/16`. Shards are counted from 0, as launchers count ranks: `0/16` to `15/16`. Throws Error naming the option
/// otherwise.
[[nodiscard]] Shard parse_shard(const std::string& option, const std::string& text);
/// `3/16`
[[nodiscard]] std::string to_string(const Shard& shard);

/// The part of a plan that one shard measures.
struct PlanShard {
  ProfilePlan plan{};                 ///< its problems and whole steps, in the order of the whole plan
  std::vector<std::size_t> places{};  ///< of each item, in the whole plan
};
/// Deals out what a plan has. Everything is sorted by what it is expected to take, the longest first, and shard i of n takes
/// the places i, i + n, i + 2n and so on. A whole step stays in one piece, its parts run one after the other. The order
/// rests on the plan alone, so that all processes deal alike.
[[nodiscard]] PlanShard shard_of(const ProfilePlan& plan, const Shard& shard);

/// Names what a plan measures: 16 hexadecimal digits, the same where all lines are, in their order.
[[nodiscard]] std::string plan_name(const ProfilePlan& plan);

}  // namespace ddl
