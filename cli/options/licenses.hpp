#pragma once

#include <string>

namespace ddl {

/// Under which licence the program and each library that may be part of it, or of its modules, stand.
[[nodiscard]] std::string licenses_text();

}  // namespace ddl
