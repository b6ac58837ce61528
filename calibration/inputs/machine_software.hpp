#pragma once

#include <string>

namespace ddl {

/// Returns the software that trainings on a machine use unless the user names another: the key `software` of the machine's
/// file, or of the nearest file that this file extends. Empty if no file has the key, or if it is `none`.
/// `name_or_path`: a bundled machine or a machine file.
[[nodiscard]] std::string machine_software(const std::string& name_or_path);

}  // namespace ddl
