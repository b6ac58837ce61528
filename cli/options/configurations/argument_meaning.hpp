#pragma once

#include <optional>
#include <string_view>

#include "cli/options/configurations/config_entry.hpp"
#include "cli/options/configurations/configuration.hpp"
#include "cli/tools/configuration_format.hpp"

namespace ddl {

/// Whether a value means that the argument is not set: `auto`, `null`.
[[nodiscard]] bool says_nothing(std::string_view value);
/// Whether an argument with this value, such as `false` or `0`, changes neither time nor memory.
[[nodiscard]] bool is_neutral(std::string_view value);
/// The setting's value in the terms of the row's field; unset if the setting does not set the field.
[[nodiscard]] std::optional<Fact> meaning_of(const ArgumentRow& row, const ConfigEntry& setting);

}  // namespace ddl
