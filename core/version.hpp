#pragma once

#include <string_view>

namespace ddl {

/// `0.1.0`: the project version of CMakeLists.txt.
[[nodiscard]] std::string_view version();
/// The commit that the program was built from, with `-dirty` appended if the tree had changes; `unknown` outside a git
/// checkout.
[[nodiscard]] std::string_view commit();

}  // namespace ddl
