#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/options/configurations/script_values.hpp"
#include "cli/options/configurations/shell_text.hpp"
#include "core/source_text.hpp"

namespace ddl {

/// Maximum number of bytes in all words of a script after variables are expanded.
inline constexpr std::size_t most_expanded_bytes = std::size_t{4} << 20U;
/// Maximum number of bytes in all texts that a script runs. The body of a function counts once per call.
inline constexpr std::size_t most_inner_bytes = std::size_t{32} << 20U;
/// Maximum number of commands that are followed. A command in a function counts once per call.
inline constexpr std::size_t most_script_commands = 50'000;
/// Maximum nesting depth of expansions, such as `${A:-${B:-$((C * 2))}}`, of branches, and of texts that a script runs.
inline constexpr int most_shell_nesting = 32;

/// The words of one command, with variables expanded.
struct ScriptCommand {
  std::vector<PlacedText> words;
  bool is_conditional = false;  ///< whether the command is in a loop, or in a branch with an unknown condition
  bool starts_shell = false;    ///< a launcher that starts a shell; the next entries are the shell's commands
};

/// How an entry of ShellScript::skipped begins, after its position, if the script runs a file that is not at hand.
inline constexpr std::string_view launches_script = "the file launches ";

/// A line that requests resources from a batch system, such as `#SBATCH --nodes=2`. The batch
/// system is `slurm`, `pbs`, `sge`, `lsf` or `pjm`.
struct ScriptDirective {
  std::string system;
  std::vector<PlacedText> words;
};

/// An assignment of a variable.
struct ShellAssignment {
  std::string name;
  std::vector<PlacedText> words;
  /// The commands that follow the assignment, as indices of ShellScript::commands: from `from` on, or, if the assignment is
  /// for one command alone, as in `NPROC_PER_NODE=8 swift sft`, up to `end`.
  std::size_t from = 0;
  std::optional<std::size_t> end{};
};

/// A file that the script writes: `cat > ds.json <<EOF`, `sed s/STAGE/1/ template.json > ds.json`.
struct ShellDocument {
  std::string name;
  std::string text;      ///< the text, read as a configuration: unknown values are `auto`
  PlacedText written{};  ///< the text, read as a script
  bool differs = false;  ///< whether branches of which it is unknown which runs write different texts
};

/// The contents of a shell script that can be found without running it.
struct ShellScript {
  std::vector<std::shared_ptr<const SourceText>> sources;  ///< the script, then the files that it includes or runs
  std::vector<ScriptCommand> commands;
  std::vector<ScriptDirective> directives;
  std::vector<ShellAssignment> assigned;
  std::vector<ShellDocument> documents;
  ScriptValues values;               ///< known values that variables have at the end
  std::vector<std::string> skipped;  ///< parts that were not read: `run.sh:3: 'source sizes.sh': there is no such file`
};

/// A file that a script includes.
struct SourcedFile {
  std::string path, text;
};
/// The inputs of a script: values of variables and arguments, and functions that load included files, and configurations.
struct ShellInputs {
  ScriptValues values{};
  std::function<std::optional<SourcedFile>(const std::string& name)> load{};
  std::function<std::optional<std::string>(const std::string& name)> load_configuration{};
};

/// Follows a script as a shell would: quotes, here-documents, variables and arrays that the script sets, functions,
/// arithmetic, `source`, `eval` and `bash -c`. Nothing is executed. Tests on known values are decided. If a test cannot be
/// decided, all branches are read, and each byte of a value records its Certainty. The output of other commands is unknown.
/// The script's folder, `$(dirname "$0")`, is `.`. Throws Error with a position in the text, if a quote is not closed, or if
/// the script exceeds one of the `most_…` limits.
[[nodiscard]] ShellScript read_shell_script(const std::string& text, const std::string& origin, const ShellInputs& inputs);

/// Returns the file, line and column at which `text` begins.
[[nodiscard]] Place place_of(const ShellScript& script, const PlacedText& text);

}  // namespace ddl
