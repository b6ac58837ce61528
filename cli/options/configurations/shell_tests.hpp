#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/options/configurations/shell_text.hpp"

namespace ddl {

/// Returns a variable's value as a whole number; unset if the value is unknown or not a whole number.
using ShellNumbers = std::function<std::optional<std::int64_t>(const std::string& name)>;

/// Returns the value of `$((…))`, which contains whole numbers, and comparisons and conditions as
/// in C. Unset if an operand is unknown.
[[nodiscard]] std::optional<std::int64_t> shell_arithmetic(std::string_view text, const ShellNumbers& numbers);

/// Whether the condition between the brackets of `[ … ]` or `[[ … ]]` is true; unset if the result
/// is unknown. `is_unset`: tells whether a word consists of a single variable without a value.
[[nodiscard]] std::optional<bool> shell_test(const std::vector<PlacedText>& words,
                                             const std::function<bool(const PlacedText&)>& is_unset);

/// Whether a pattern with `*`, `?` and `[…]` matches the whole word.
[[nodiscard]] bool fits_pattern(std::string_view pattern, std::string_view word);

}  // namespace ddl
