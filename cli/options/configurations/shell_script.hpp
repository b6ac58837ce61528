#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/source_text.hpp"

namespace ddl {

/// Most bytes that the words of a script have once its variables stand for their values.
inline constexpr std::size_t most_expanded_bytes = std::size_t{4} << 20U;
/// Deepest nesting of what a script puts into a word: `${A:-${B:-$((C * 2))}}`.
inline constexpr int most_shell_nesting = 32;

/// A text of a script, each of whose bytes knows where it stands in the file.
struct PlacedText {
  std::string text;
  std::vector<std::uint32_t> offsets;  ///< of each byte
  std::uint32_t start = 0;             ///< offset of an empty text
  bool is_known = true;                ///< whether all of it is said by the file

  [[nodiscard]] std::size_t offset() const { return offsets.empty() ? start : offsets.front(); }
};

/// The words of one command, in which variables stand for their values.
struct ScriptCommand {
  std::vector<PlacedText> words;
  bool is_conditional = false;  ///< it stands in an if, a loop or a case
};

/// A shell script as far as it can be read without running anything.
struct ShellScript {
  std::shared_ptr<const SourceText> source;
  std::vector<ScriptCommand> commands;
  std::vector<ScriptCommand> directives;  ///< what `#SBATCH` says
  std::vector<PlacedText> assigned;       ///< the words of all variables, as they were assigned
};

/// Reads quotes, comments, continued lines, variables and arrays that the script sets itself, `${NAME:-default}` and
/// `$((…))`; the folder of the script itself, as `$(dirname "$0")` finds it, is `.`. What only a shell can know, such as
/// `$1` or the output of another command, is unknown. Nothing is executed. Throws Error, placed in the text, on a quote that
/// is not closed, and on what grows beyond most_expanded_bytes.
[[nodiscard]] ShellScript read_shell_script(const std::string& text, const std::string& origin);

}  // namespace ddl
