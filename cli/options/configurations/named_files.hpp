#pragma once

#include <optional>
#include <string>

#include "cli/options/configurations/shell_script.hpp"

namespace ddl {

// A file that another file names is searched for next to that file, then in the working directory (configurations only). A
// relative name with a folder, such as `configs/ds.json`, is also searched for in the folders above the file, because
// scripts are usually started from the top of their repository. An absolute name that this machine does not have is a path
// in a container: its last steps, such as `configs/ds.json`, are searched for instead. Only files with the endings below are
// read: an error quotes lines of a file, and the author of a script must not choose which files of this machine are quoted.

/// Whether a name has the ending of a script: `.sh`, `.bash`, `.env`, `.args`, or that of a job, such as `.sbatch`.
[[nodiscard]] bool is_script_name(const std::string& name);
/// Returns the path of a configuration (`.json`, `.toml`, `.yaml`, `.yml`) that the file `path` names; empty if none.
[[nodiscard]] std::optional<std::string> named_configuration(const std::string& path, const std::string& name);
/// Like named_configuration, for a name that begins with an unknown variable, such as `$HOME/configs/ds.json`: it is
/// searched for like a path in a container.
[[nodiscard]] std::optional<std::string> configuration_behind_variable(const std::string& path, const std::string& name);
/// Reads a script or a job that the script `path` includes or launches; empty if there is none.
[[nodiscard]] std::optional<SourcedFile> named_script(const std::string& path, const std::string& name);

}  // namespace ddl
