#pragma once

#include <string>
#include <vector>

#include "model_zoo/problem.hpp"

namespace ddl {

/// The line of a problem as profiles have it, or an Error placed in it.
[[nodiscard]] std::string checked_problem(const std::string& line, const std::string& origin, int line_number);

/// The problems in a file, one a line; blank lines and those that begin with # say nothing. Throws Error, placed in the
/// file, on a line that is no problem, and where there is none.
[[nodiscard]] std::vector<CountedProblem> problems_in(const std::string& path);

}  // namespace ddl
