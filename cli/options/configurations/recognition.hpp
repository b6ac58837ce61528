#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/options/configurations/config_entry.hpp"
#include "cli/tools/configuration_format.hpp"

namespace ddl {

/// The features of a text by which its tool is recognised.
struct ConfiguredText {
  ConfigurationLanguage language = ConfigurationLanguage::script;
  std::vector<std::string> keys{};      ///< in the spelling of `argument_key`
  std::vector<std::string> programs{};  ///< the programs that a script runs; empty for other languages
  bool has_arguments = false;           ///< the text is a script, or has keys that are command-line arguments
};

/// The language that a text is written in.
[[nodiscard]] ConfigurationLanguage language_of(const std::string& text);
/// Replaces references such as `${model.seq_length}` and `${.seq_length}` by the values of these keys.
void resolve_references(ConfigEntries& settings);
/// The first row for `key`, which is in the spelling of `argument_key`; null if no row has the key.
[[nodiscard]] const ArgumentRow* row_named(std::span<const ArgumentRow> rows, const std::string& key);
/// Whether one of the patterns, which may end in `*`, matches the key.
[[nodiscard]] bool is_among(std::span<const std::string_view> patterns, const std::string& key);
/// The format of the text; null if the text has the marks of no known format.
[[nodiscard]] const ConfigurationFormat* format_of(const ConfiguredText& text);
/// The tool to which the text belongs, if configurations of this tool are not read; null if there is no such tool.
[[nodiscard]] const ForeignTool* foreign_tool_of(const ConfiguredText& text);

}  // namespace ddl
