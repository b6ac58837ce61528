#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "profiler/profiles/profiling.hpp"

namespace ddl {

/// One of `count` parts of the problems of a profile, which `count` processes can measure.
struct Shard {
  int index = 0, count = 1;  ///< 0 ≤ index < count
  [[nodiscard]] bool operator==(const Shard&) const = default;
};
/// Parses a shard such as `3/16`. Shards are counted from 0, as launchers count ranks: `0/16` to
/// `15/16`. For any other text, throws Error that names the option.
[[nodiscard]] Shard parse_shard(const std::string& option, const std::string& text);
/// Returns a shard as text: `3/16`.
[[nodiscard]] std::string to_string(const Shard& shard);

/// The part of a plan that one shard measures.
struct PlanShard {
  ProfilePlan plan{};                 ///< the problems and whole steps of the shard, in the order of the whole plan
  std::vector<std::size_t> places{};  ///< index of each item in the whole plan
};
/// Returns the items of a plan that one shard measures. Items are sorted by their expected time, longest first, and shard i
/// of n takes the items i, i + n, i + 2n and so on. A whole step stays in one shard, because its parts run one after the
/// other. The order depends only on the plan, so all processes compute the same distribution.
[[nodiscard]] PlanShard shard_of(const ProfilePlan& plan, const Shard& shard);

/// An identifier of the problems that a plan measures: 16 hexadecimal digits. Plans with equal
/// lines in the same order have equal identifiers.
[[nodiscard]] std::string plan_name(const ProfilePlan& plan);

}  // namespace ddl
