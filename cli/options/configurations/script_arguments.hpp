#pragma once

#include <string>
#include <vector>

#include "cli/options/configurations/config_entry.hpp"
#include "cli/options/configurations/shell_script.hpp"

namespace ddl {

/// The arguments of the command of a script that trains, those of what launches it included: `slurm:--nodes`,
/// `srun:--nodes`, `torchrun:--nnodes`, `accelerate:--num-processes`, and `--seq-length` of the program itself. A file of
/// arguments is a script of those alone.
struct ScriptArguments {
  ConfigEntries settings;
  std::vector<PlacedText> programs{};  ///< what the commands run: `pretrain_gpt.py`, `torchtitan.train`, `swift`
  /// Those that train nothing, or not what their arguments say, where the script runs no other ones.
  std::vector<PlacedText> refused_programs{};
  std::vector<std::string> warnings{};
};
[[nodiscard]] ScriptArguments script_arguments(const ShellScript& script);

}  // namespace ddl
