#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cli/options/command_line.hpp"

namespace ddl {

/// The largest number of values in a list of GPUs or batches.
inline constexpr std::size_t most_list_values = 64;

/// Parses a list of numbers, `8,16,24`; a range in which each number is twice the previous one, `8..1024`; or both,
/// `1,8..64`. Returns the numbers in the order of the text. Throws Error that names `option` if the text is invalid, if a
/// number is not in [low, high] or occurs twice, or if there are more than most_list_values numbers.
[[nodiscard]] std::vector<std::int64_t> parse_number_list(const std::string& option, std::string_view text, std::int64_t low,
                                                          std::int64_t high);

/// Adds an option that takes a list of numbers.
Option add_number_list(const Command& command, const std::string& name, std::vector<std::int64_t>& into, std::int64_t low,
                       std::int64_t high, const std::string& description);

}  // namespace ddl
