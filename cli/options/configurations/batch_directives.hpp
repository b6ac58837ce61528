#pragma once

#include "cli/options/configurations/config_entry.hpp"
#include "cli/options/configurations/shell_script.hpp"

namespace ddl {

/// What the head of a script asks of a batch system, as arguments with the name of the system: `slurm:--nodes`,
/// `pbs:-l select`, `pbs:-l ngpus`.
[[nodiscard]] ConfigEntries directive_settings(const ShellScript& script);

/// An entry of a script. `value`: nothing if the argument stands alone.
[[nodiscard]] ConfigEntry script_entry(const ShellScript& script, std::string key, const PlacedText& at,
                                       const PlacedText* value);

}  // namespace ddl
