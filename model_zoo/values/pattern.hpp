#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace ddl {

/// Maximum number of letters of a pattern after its groups are written out.
inline constexpr std::size_t max_pattern_letters = 100'000;

/// Returns the letters of a pattern with its groups written out: `M(ME)2*` is `MMEME*`. A group has at least one letter,
/// contains no group, and is followed by a number of at least 1. Throws Error without a position, which the caller adds.
[[nodiscard]] std::string pattern_letters(std::string_view pattern);
/// Returns the shortest pattern with one group for these letters, or the letters themselves if no pattern is shorter.
[[nodiscard]] std::string shortest_pattern(std::string_view letters);

}  // namespace ddl
