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
  std::vector<std::string> warnings;
};
[[nodiscard]] ScriptArguments script_arguments(const ShellScript& script);

}  // namespace ddl
