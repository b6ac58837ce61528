#pragma once

#include <string>
#include <utility>
#include <vector>

namespace ddl {

/// Values that a script takes from outside: variables of the environment by their names, its arguments as `1`, `2`, ….
using ScriptValues = std::vector<std::pair<std::string, std::string>>;

/// Reads `NAME=VALUE`. Throws Error for what is no name.
[[nodiscard]] ScriptValues script_values_in(const std::vector<std::string>& words);

}  // namespace ddl
