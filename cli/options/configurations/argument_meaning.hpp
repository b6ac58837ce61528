#pragma once

#include <optional>
#include <string_view>

#include "cli/options/configurations/config_entry.hpp"
#include "cli/options/configurations/configuration.hpp"
#include "cli/tools/configuration_format.hpp"

namespace ddl {

/// Whether a value stands for none: `auto`, `null`.
[[nodiscard]] bool says_nothing(std::string_view value);
/// Whether an argument with this value changes nothing.
[[nodiscard]] bool is_neutral(std::string_view value);
/// What the row says of a value; nothing if it says nothing.
[[nodiscard]] std::optional<Fact> meaning_of(const ArgumentRow& row, const ConfigEntry& setting);

}  // namespace ddl
