#pragma once

#include <string>

namespace ddl {

/// The licenses of the program, and of each library that the program or one of its modules may contain.
[[nodiscard]] std::string licenses_text();

}  // namespace ddl
