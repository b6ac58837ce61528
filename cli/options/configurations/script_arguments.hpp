#pragma once

#include <string>
#include <vector>

#include "cli/options/configurations/config_entry.hpp"
#include "cli/options/configurations/shell_script.hpp"

namespace ddl {

/// The arguments of the training command in a script. Arguments of a launcher have the launcher's name as a prefix:
/// `slurm:--nodes`, `srun:--nodes`, `torchrun:--nnodes`, `accelerate:--num-processes`. Arguments of the training program,
/// such as `--seq-length`, have no prefix. A file that contains only arguments is read as a script.
struct ScriptArguments {
  ConfigEntries settings;
  std::vector<PlacedText> programs{};  ///< programs that the commands run: `pretrain_gpt.py`, `torchtitan.train`, `swift`
  /// Programs that train nothing, or that train another model than their arguments describe. Empty
  /// if the script also runs training.
  std::vector<PlacedText> refused_programs{};
  std::vector<std::string> warnings{};
};
[[nodiscard]] ScriptArguments script_arguments(const ShellScript& script);

}  // namespace ddl
