#pragma once

#include <string_view>

namespace ddl {

/// `0.1.0`: the project version of CMakeLists.txt.
[[nodiscard]] std::string_view version();
/// The commit the program was built from, `-dirty` appended where the tree had changes, `unknown` outside a git checkout.
[[nodiscard]] std::string_view commit();

}  // namespace ddl
