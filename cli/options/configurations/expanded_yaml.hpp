#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/options/configurations/config_entry.hpp"

namespace ddl {

/// Reads YAML with anchors, aliases, merge keys (`<<: *default`), tags and repeated keys, which tools accept, but YamlNode
/// refuses. `is_repeating`: the text repeats a key, or has escaped control characters. Empty if the text has none of these,
/// or is not valid. Throws Error for aliases that expand to too many values.
[[nodiscard]] std::optional<ConfigEntries> expanded_yaml_settings(const std::string& text, const std::string& origin,
                                                                  bool is_repeating);
/// Returns a warning for each setting that is set again to another value.
[[nodiscard]] std::vector<std::string> repeated_settings(const ConfigEntries& settings);

}  // namespace ddl
