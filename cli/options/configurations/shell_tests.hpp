#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/options/configurations/shell_text.hpp"

namespace ddl {

/// The value of a variable as a whole number; nothing if it is not known.
using ShellNumbers = std::function<std::optional<std::int64_t>(const std::string& name)>;

/// The value of `$((…))`: whole numbers, with comparisons and conditions as in C. Nothing if a part is not known.
[[nodiscard]] std::optional<std::int64_t> shell_arithmetic(std::string_view text, const ShellNumbers& numbers);

/// Whether the words of `[ … ]` or `[[ … ]]` between the brackets hold; nothing if that is not known.
/// `is_unset`: whether a word is nothing but a variable that has no value.
[[nodiscard]] std::optional<bool> shell_test(const std::vector<PlacedText>& words,
                                             const std::function<bool(const PlacedText&)>& is_unset);

/// Whether a pattern with `*`, `?` and `[…]` fits a whole word.
[[nodiscard]] bool fits_pattern(std::string_view pattern, std::string_view word);

}  // namespace ddl
