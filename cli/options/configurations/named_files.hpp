#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "cli/options/configurations/shell_script.hpp"
#include "cli/tools/configuration_format.hpp"

namespace ddl {

/// Fields with the names of further configuration files, in the order in which the files are read.
inline constexpr std::array file_fields{ConfigField::accelerate_file, ConfigField::deepspeed_file,
                                        ConfigField::trainer_file};
/// Whether a field is one of `file_fields`.
[[nodiscard]] bool is_file_field(RunField field);
/// Whether an argument of a script names a further configuration file.
[[nodiscard]] bool names_a_file(const std::vector<std::string>& keys);
/// Whether files of this format are read by programs that a script starts, although none is a program of the tool. The tool
/// has other programs, such as a decoder, that read such files as well.
[[nodiscard]] bool is_of_another_program(const ConfigurationFormat* format, const std::vector<std::string>& programs);

// A file that another file names is searched for next to that file, then in the working directory (configurations only). A
// relative name with a folder, such as `configs/ds.json`, is also searched for in the folders above the file, because
// scripts are usually started from the top of their repository. An absolute name that this machine does not have is a path
// in a container: its last steps, such as `configs/ds.json`, are searched for instead. Only files with the endings below are
// read: an error quotes lines of a file, and the author of a script must not choose which files of this machine are quoted.

/// Returns the name of a file without the words after it, which an argument may have: `--config-file a.yaml DTYPE float16`.
/// A name that contains spaces is returned whole.
[[nodiscard]] std::string first_file_in(const std::string& words);
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
