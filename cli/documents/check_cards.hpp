#pragma once

#include <string>
#include <utility>
#include <vector>

#include "cli/documents/check.hpp"

namespace ddl {

/// Returns what a page shows first of a job that could be checked: memory with its verdict, speed, sizes, and a change that
/// fits. `sizes`: a label and a text such as `128 (2 per GPU)` for each size.
[[nodiscard]] Cards check_cards(const JobCheck& check, const std::vector<std::pair<std::string, std::string>>& sizes);

}  // namespace ddl
