#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/options/configurations/config_entry.hpp"
#include "cli/options/configurations/configuration.hpp"
#include "cli/tools/configuration_format.hpp"

namespace ddl {

/// The features of a configuration's text that show which tool the text is for.
struct ConfiguredText {
  ConfigurationLanguage language = ConfigurationLanguage::script;
  std::vector<std::string> keys{};          ///< names of arguments, in the spelling of `argument_key`
  std::vector<std::string> programs{};      ///< the programs that a script runs; empty if the text is not a script
  bool has_arguments = false;               ///< whether the text is a script, or has keys that are command-line arguments
  std::span<const ConfigEntry> settings{};  ///< the arguments with the names `keys`
  bool is_given = true;                     ///< whether the user names the text; false: another file names it
};

/// Returns the language of a configuration's text. `path`: makefiles look like TOML.
[[nodiscard]] ConfigurationLanguage language_of(const std::string& text, const std::string& path);
/// Returns the first row for `key`; null if no row has the key. `key` must be in the spelling of `argument_key`.
[[nodiscard]] const ArgumentRow* row_named(std::span<const ArgumentRow> rows, const std::string& key);
/// Returns the row whose key was probably meant by a misspelled key; null if there is none.
[[nodiscard]] const ArgumentRow* misspelled_row(std::span<const ArgumentRow> rows, const std::string& key);
/// Whether command lines of other tools may contain arguments of this format. Formats with program names do not lend
/// arguments.
[[nodiscard]] bool lends_arguments(const ConfigurationFormat& format);
/// Returns an argument as the user wrote it: `--seq-length 2048`.
[[nodiscard]] std::string argument_text(const ConfigEntry& setting);
/// Moves refusals of commands that do not train to the beginning, because they explain the other refusals.
void put_commands_first(std::span<Refusal> refusals);
/// Removes the arguments of DeepSpeed from a file that contains them instead of the name of a DeepSpeed file, and returns
/// them.
[[nodiscard]] ConfigEntries take_inner(const ConfigurationFormat& format, ConfigEntries& settings,
                                       std::vector<std::string>& keys);
/// Whether a pattern matches the key. A pattern may end in `*`.
[[nodiscard]] bool is_among(std::span<const std::string_view> patterns, const std::string& key);
/// Whether a pattern among the marks of a tool, or the first of patterns that are joined by `+`, matches the key.
[[nodiscard]] bool is_part_of_mark(std::span<const std::string_view> marks, const std::string& key);
/// Whether one of the keys is a mark of the format, or a part of one.
[[nodiscard]] bool has_part_of_mark(const ConfigurationFormat& format, const std::vector<std::string>& keys);
/// Appends the arguments of an unknown program to `listed`, except arguments that change neither time nor memory. `format`:
/// that of the file that the program's arguments name.
void list_unknown(const ConfigEntries& settings, const std::vector<std::string>& keys, const ConfigurationFormat& format,
                  std::vector<ConfigEntry>& listed);
/// Whether a text that is not valid YAML contains a key of a known tool.
[[nodiscard]] bool looks_like_a_tools(const std::string& text);
/// Returns the format of a text; null if the text has the marks of no known format.
[[nodiscard]] const ConfigurationFormat* format_of(const ConfiguredText& text);
/// Returns the tool to which the text belongs, if this program does not read the tool's configurations; else null.
[[nodiscard]] const ForeignTool* foreign_tool_of(const ConfiguredText& text);

/// Returns the text of a file as a script: of a cluster's job and of a page in Markdown, the commands; of a makefile, the
/// recipes. Every line stays in its place. Other texts stay as they are.
[[nodiscard]] std::string script_of(const std::string& text, const std::string& path);

}  // namespace ddl
