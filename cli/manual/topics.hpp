#pragma once

#include <span>
#include <string_view>

namespace ddl {

/// A page of help about a concept, not about a command.
struct HelpTopic {
  std::string_view name, summary;
  std::string_view text;  ///< lines of at most 80 columns
};
[[nodiscard]] std::span<const HelpTopic> help_topics();

}  // namespace ddl
