#pragma once

#include <string>
#include <string_view>

namespace ddl {

/// Whether a name means a file of the user's rather than a bundled one: it has a '/', or ends in `.yaml` or `.yml`.
[[nodiscard]] bool is_path(std::string_view name);
/// What the spellings of one name have in common: its letters and digits, in lower case.
[[nodiscard]] std::string name_key(std::string_view name);

}  // namespace ddl
