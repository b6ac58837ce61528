#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/options/configurations/script_values.hpp"
#include "cli/options/configurations/shell_text.hpp"
#include "core/source_text.hpp"

namespace ddl {

/// Most bytes that the words of a script have once its variables stand for their values.
inline constexpr std::size_t most_expanded_bytes = std::size_t{4} << 20U;
/// Most bytes of the texts that a script runs: bodies of functions once for each call.
inline constexpr std::size_t most_inner_bytes = std::size_t{32} << 20U;
/// Most commands that are followed, those of functions once for each call.
inline constexpr std::size_t most_script_commands = 50'000;
/// Deepest nesting of what a script puts into a word, `${A:-${B:-$((C * 2))}}`, of branches, and of texts that it runs.
inline constexpr int most_shell_nesting = 32;

/// The words of one command, in which variables stand for their values.
struct ScriptCommand {
  std::vector<PlacedText> words;
  bool is_conditional = false;  ///< it stands in a branch that is not decided, or in a loop
  bool starts_shell = false;    ///< its last words start a shell, whose commands follow
};

/// A line such as `#SBATCH --nodes=2`, and the system that reads it: `slurm`, `pbs`, `sge`, `lsf`, `pjm`.
struct ScriptDirective {
  std::string system;
  std::vector<PlacedText> words;
};

/// A variable as it was assigned.
struct ShellAssignment {
  std::string name;
  std::vector<PlacedText> words;
};

/// A file that the script writes: `cat > ds.json <<EOF`.
struct ShellDocument {
  std::string name, text;
};

/// A shell script as far as it can be read without running anything.
struct ShellScript {
  std::vector<std::shared_ptr<const SourceText>> sources;  ///< itself, and files that it includes
  std::vector<ScriptCommand> commands;
  std::vector<ScriptDirective> directives;
  std::vector<ShellAssignment> assigned;
  std::vector<ShellDocument> documents;
  std::vector<std::string> skipped;  ///< what was not read: `run.sh:3: 'source sizes.sh': there is no such file`
};

/// A file that a script includes.
struct SourcedFile {
  std::string path, text;
};
/// What a script takes from outside.
struct ShellInputs {
  ScriptValues values{};
  std::function<std::optional<SourcedFile>(const std::string& name)> load{};
};

/// Follows a script as a shell would: quotes, here-documents, variables and arrays that it sets itself, functions,
/// arithmetic, `source`, `eval` and `bash -c`. Tests on known values are decided; of branches that are not, each byte knows
/// what is certain of it. What only a shell can know, such as the output of another command, is unknown. The folder of the
/// script itself, as `$(dirname "$0")` finds it, is `.`. Nothing is executed. Throws Error, placed in the text, on a quote
/// that is not closed, and on what exceeds the limits above.
[[nodiscard]] ShellScript read_shell_script(const std::string& text, const std::string& origin, const ShellInputs& inputs);

/// The place of a text's begin.
[[nodiscard]] Place place_of(const ShellScript& script, const PlacedText& text);

}  // namespace ddl
