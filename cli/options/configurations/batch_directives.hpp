#pragma once

#include "cli/options/configurations/config_entry.hpp"
#include "cli/options/configurations/shell_script.hpp"

namespace ddl {

/// Returns the resources that a script requests from a batch system in directives, such as `#SBATCH
/// --nodes=2`. Each key begins with the system's name: `slurm:--nodes`, `pbs:-l select`, `pbs:-l
/// ngpus`.
[[nodiscard]] ConfigEntries directive_settings(const ShellScript& script);

/// Returns the entry for an argument at `at` in a script. `value`: null if the argument has no value.
[[nodiscard]] ConfigEntry script_entry(const ShellScript& script, std::string key, const PlacedText& at,
                                       const PlacedText* value);

}  // namespace ddl
