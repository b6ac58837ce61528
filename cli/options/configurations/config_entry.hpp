#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.hpp"
#include "core/source_text.hpp"

namespace ddl {

inline constexpr std::size_t max_configuration_file_bytes = std::size_t{1} << 20U;
/// Maximum number of arguments in a configuration.
inline constexpr std::size_t most_settings = 10'000;

/// One argument in a configuration file: `--seq-length 2048`, or `seq_len = 2048` in the table `training`.
struct ConfigEntry {
  std::string key;              ///< `--seq-length`, `training.seq_len`
  std::string value{};          ///< empty if the argument has no value
  bool is_known = true;         ///< false if the value contains a variable that the file does not set
  bool is_of_branches = false;  ///< several branches set the value, and it is unknown which one runs
  std::string known_end{};      ///< the last part of an unknown path, if known: `gpt2` of `$HOME/models/gpt2`
  std::string written{};        ///< the key in the file's spelling, if `key` has another
  std::shared_ptr<const SourceText> source{};
  std::size_t key_offset = 0, value_offset = 0;  ///< byte offsets

  /// Returns the key for messages.
  [[nodiscard]] const std::string& shown_key() const { return written.empty() ? key : written; }
  [[nodiscard]] Place place() const { return source->place(value_offset); }
  /// Returns an error at the position of the value, for the caller to throw.
  [[nodiscard]] Error error(std::string_view message, std::string hint = {}) const {
    return source->error(value_offset, message, std::move(hint));
  }
};

using ConfigEntries = std::vector<ConfigEntry>;

// Parsers for the languages of configurations. Dots join nested keys, and spaces join items of lists. A parser throws Error
// with a position in the text, if the text is not valid, or if it has more than `most_settings` arguments.
[[nodiscard]] ConfigEntries json_settings(const std::string& text, const std::string& origin);
[[nodiscard]] ConfigEntries yaml_settings(const std::string& text, const std::string& origin);
[[nodiscard]] ConfigEntries toml_settings(const std::string& text, const std::string& origin);

/// Returns the name of an argument in a spelling that is common to all languages: leading dashes
/// are removed, and underscores become dashes.
[[nodiscard]] std::string argument_key(std::string_view key);

/// Appends an argument. Throws Error if there are more than `most_settings` arguments.
void add_setting(ConfigEntries& settings, ConfigEntry setting);

}  // namespace ddl
