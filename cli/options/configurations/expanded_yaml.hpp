#pragma once

#include <optional>
#include <string>

#include "cli/options/configurations/config_entry.hpp"

namespace ddl {

/// Reads YAML with anchors, aliases, merge keys (`<<: *default`) and tags, which tools accept, but YamlNode refuses. Empty
/// if the text has none of these, or is not valid. Throws Error for aliases that expand to too many values.
[[nodiscard]] std::optional<ConfigEntries> expanded_yaml_settings(const std::string& text, const std::string& origin);

}  // namespace ddl
