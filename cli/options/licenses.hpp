#pragma once

#include <string>

namespace ddl {

/// Returns the licenses of the program, and of each library that the program or its modules may contain.
[[nodiscard]] std::string licenses_text();

}  // namespace ddl
