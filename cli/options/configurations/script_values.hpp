#pragma once

#include <string>
#include <utility>
#include <vector>

namespace ddl {

/// Values that the user gives to a script: environment variables by name, and the script's
/// positional arguments by number (`1`, `2`, …).
using ScriptValues = std::vector<std::pair<std::string, std::string>>;

/// Parses words of the form `NAME=VALUE`. A word may also name a script (`config.sh`) whose variables are the values. Throws
/// Error if a name is invalid, or if the script cannot be read.
[[nodiscard]] ScriptValues script_values_in(const std::vector<std::string>& words);

}  // namespace ddl
