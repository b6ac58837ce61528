#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/yaml_node.hpp"
#include "estimator/inputs/settings.hpp"

namespace ddl {

/// Reads the value of a setting from a file. Throws Error that points to the node if the setting does not allow the value.
[[nodiscard]] double read_setting(const SettingRow& row, const YamlNode& node);
/// Parses the value of an option or of a cell of a table. For an invalid value, throws Error that calls the setting `name`.
[[nodiscard]] double parse_setting(const SettingRow& row, const std::string& text, const std::string& name);
/// Prints a value as text, which read_setting and parse_setting read as the same value.
[[nodiscard]] std::string print_setting(const SettingRow& row, double value);

/// Parses `key=value key=value`, as in a cell or in the option --setting. `origin` is set as the origin of each value.
/// Throws Error for an unknown key, with "did you mean", and for a value that the setting does not allow.
[[nodiscard]] Settings parse_settings(const std::string& text, SettingOrigin origin);
/// Prints settings as text, which parse_settings parses to the same settings.
[[nodiscard]] std::string print_settings(const Settings& settings);
/// The former keys of settings, which files may still have.
[[nodiscard]] std::vector<YamlNode::FormerKey> former_settings();
/// Returns the setting with this key. Throws Error, with "did you mean", for an unknown key.
[[nodiscard]] const SettingRow& setting_named(const std::string& key);

/// Returns a setting that requires another value of the setting `allreduce`; nullptr if there is none.
[[nodiscard]] const SettingRow* lacking_setting(const Settings& settings);

/// Parses a percentile such as `p95`: 95 % of the repetitions take no longer. The number must be from 50 to 99.9. Returns
/// empty for any other text.
[[nodiscard]] std::optional<double> parse_percentile(std::string_view text);

}  // namespace ddl
