#pragma once

#include <optional>
#include <string>

#include "cli/options/configurations/config_entry.hpp"
#include "cli/options/configurations/shell_script.hpp"
#include "cli/tools/config_field.hpp"

namespace ddl {

/// Returns the resources that a script requests from a batch system in directives, such as `#SBATCH
/// --nodes=2`. Each key begins with the system's name: `slurm:--nodes`, `pbs:-l select`, `pbs:-l
/// ngpus`.
[[nodiscard]] ConfigEntries directive_settings(const ShellScript& script);

/// Whether two values of a field are the same: of numbers of GPUs, only the numbers count, as in `gpu:h100:8` and `8`.
[[nodiscard]] bool is_same_value(RunField field, const std::string& a, const std::string& b);

/// A number of GPUs per node, and a warning that a launcher starts fewer processes on each node.
struct FewerStarted {
  std::string value;  ///< number of GPUs per node in the batch system's syntax: `gpu:h100:1`
  std::string warning;
};
/// Returns the number of processes that a launcher starts on each node, if it is less than the number of GPUs `requested`,
/// and no other argument starts several launchers on a node. `directive`, `launcher`: the arguments with both numbers.
[[nodiscard]] std::optional<FewerStarted> fewer_started(const ConfigEntries& settings, const std::string& requested,
                                                        const ConfigEntry& directive, const ConfigEntry& launcher);

/// Returns the entry for an argument at `at` in a script. `value`: null if the argument has no value.
[[nodiscard]] ConfigEntry script_entry(const ShellScript& script, std::string key, const PlacedText& at,
                                       const PlacedText* value);

}  // namespace ddl
