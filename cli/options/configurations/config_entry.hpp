#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.hpp"
#include "core/source_text.hpp"

namespace ddl {

/// Maximum size of a configuration file, in bytes.
inline constexpr std::size_t max_configuration_file_bytes = std::size_t{1} << 20U;
/// Maximum number of arguments in a configuration.
inline constexpr std::size_t most_settings = 10'000;

/// One argument in a configuration file: `--seq-length 2048`, or `seq_len = 2048` in the table `training`.
struct ConfigEntry {
  std::string key;              ///< `--seq-length`, `training.seq_len`
  std::string value{};          ///< empty where the argument stands alone
  bool is_known = true;         ///< whether the file says the value; a variable of the environment may not be set in it
  bool is_of_branches = false;  ///< it is one of several values, of branches that are not decided
  std::shared_ptr<const SourceText> source{};
  std::size_t key_offset = 0, value_offset = 0;  ///< byte offsets

  [[nodiscard]] Place place() const { return source->place(value_offset); }
  /// Returns an error at the position of the value, for the caller to throw.
  [[nodiscard]] Error error(std::string_view message, std::string hint = {}) const {
    return source->error(value_offset, message, std::move(hint));
  }
};

using ConfigEntries = std::vector<ConfigEntry>;

// Parsers of the languages of configurations. Nested keys are joined by dots, and items of lists by blanks. They throw
// Error, with its position in the text, if the text is not in the language, or if it has more than `most_settings`
// arguments.
[[nodiscard]] ConfigEntries json_settings(const std::string& text, const std::string& origin);
[[nodiscard]] ConfigEntries yaml_settings(const std::string& text, const std::string& origin);
[[nodiscard]] ConfigEntries toml_settings(const std::string& text, const std::string& origin);

/// The name of an argument in all languages: without leading dashes, and with dashes for underscores.
[[nodiscard]] std::string argument_key(std::string_view key);

/// Throws Error if there are too many arguments.
void add_setting(ConfigEntries& settings, ConfigEntry setting);

}  // namespace ddl
