#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cli/options/command_line.hpp"

namespace ddl {

/// The largest number of values in a list of GPUs or batches.
inline constexpr std::size_t most_list_values = 64;

/// `8,16,24`, or `8..1024`: each twice the one before, up to the last, or both: `1,8..64`. The numbers in the order in which
/// they are written. Throws Error that names `option`, where the text is none such, a number is not in [low, high] or stands
/// there twice, or there are more than most_list_values.
[[nodiscard]] std::vector<std::int64_t> parse_number_list(const std::string& option, std::string_view text, std::int64_t low,
                                                          std::int64_t high);

/// An option that takes such a list.
Option add_number_list(const Command& command, const std::string& name, std::vector<std::int64_t>& into, std::int64_t low,
                       std::int64_t high, const std::string& description);

}  // namespace ddl
