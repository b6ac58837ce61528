#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include "core/yaml_node.hpp"
#include "estimator/inputs/settings.hpp"

namespace ddl {

/// The value of a setting that a file says. Throws Error, placed at the node, on one that the row does not allow.
[[nodiscard]] double read_setting(const SettingRow& row, const YamlNode& node);
/// The same of an option or of a cell of a table. Throws Error that calls the setting `name`.
[[nodiscard]] double parse_setting(const SettingRow& row, const std::string& text, const std::string& name);
/// Text that both of them read back to the same value.
[[nodiscard]] std::string print_setting(const SettingRow& row, double value);

/// Reads `key=value key=value`, each said by `origin`, as a cell or the option --setting has them. Throws Error on a key
/// that is none, with "did you mean", and on a value that its row does not allow.
[[nodiscard]] Settings parse_settings(const std::string& text, SettingOrigin origin);
/// Text that parse_settings reads back to the same settings.
[[nodiscard]] std::string print_settings(const Settings& settings);
/// The row of a key. Throws Error, with "did you mean", on a key that is none.
[[nodiscard]] const SettingRow& setting_named(const std::string& key);

/// A setting without the value of `allreduce` that it belongs to.
[[nodiscard]] const SettingRow* lacking_allreduce(const Settings& settings);

/// `p95`: the share of repetitions that take no longer, in percent, from 50 to 99.9. Nothing for any other text.
[[nodiscard]] std::optional<double> parse_percentile(std::string_view text);

}  // namespace ddl
