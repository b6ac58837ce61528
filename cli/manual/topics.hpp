#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "cli/manual/command_description.hpp"

namespace ddl {

/// A page of help about a concept, not about a command.
struct HelpTopic {
  std::string_view name, summary;
  std::string_view text;  ///< lines of at most 80 columns
};
[[nodiscard]] std::span<const HelpTopic> help_topics();

/// Returns the page about a word that people type, such as `notation` or `lora`: the topic of this name, else what replaces
/// the word in this program, and the options whose name or text contains the word, else the topic whose page explains the
/// word. Empty if nothing is known of the word.
[[nodiscard]] std::optional<std::string> help_about(const CommandDescription& program, std::string_view word);

}  // namespace ddl
