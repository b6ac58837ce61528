#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/options/configurations/config_entry.hpp"
#include "cli/tools/configuration_format.hpp"

namespace ddl {

/// What decides which tool's configuration a text is.
struct ConfiguredText {
  ConfigurationLanguage language = ConfigurationLanguage::script;
  std::vector<std::string> keys{};      ///< as `argument_key` has them
  std::vector<std::string> programs{};  ///< of a script: those that its commands run
  bool has_arguments = false;           ///< it has arguments of command lines: a script, or another text with such keys
};

/// The language that a text is written in.
[[nodiscard]] ConfigurationLanguage language_of(const std::string& text);
/// Puts what `${model.seq_length}` and `${.seq_length}` refer to in the place of it.
void resolve_references(ConfigEntries& settings);
/// The first row of the key, which is as `argument_key` has it; nothing if no row has it.
[[nodiscard]] const ArgumentRow* row_named(std::span<const ArgumentRow> rows, const std::string& key);
/// Whether one of the names, which may end in `*`, is the key.
[[nodiscard]] bool is_among(std::span<const std::string_view> patterns, const std::string& key);
/// Nothing if no format has the marks.
[[nodiscard]] const ConfigurationFormat* format_of(const ConfiguredText& text);
/// A tool whose configurations are not read; nothing if none has the marks.
[[nodiscard]] const ForeignTool* foreign_tool_of(const ConfiguredText& text);

}  // namespace ddl
