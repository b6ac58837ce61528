#pragma once

#include <string>

namespace ddl {

/// The licenses of the program, and of each library that may be part of the program or its modules.
[[nodiscard]] std::string licenses_text();

}  // namespace ddl
