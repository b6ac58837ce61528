#pragma once

#include <cstddef>
#include <vector>

#include "cli/options/configurations/shell_script.hpp"

namespace ddl {

/// Returns the index of the program that words such as `nohup` and `timeout 3600` start; these have options, settings of
/// variables and numbers.
[[nodiscard]] std::size_t first_program(const std::vector<PlacedText>& words, std::size_t from);

}  // namespace ddl
