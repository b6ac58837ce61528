#pragma once

#include <string>
#include <string_view>

namespace ddl {

/// A YAML file with `section` in place of its own of that key, or behind its end. `section` begins with its key:
/// `contention:`.
[[nodiscard]] std::string with_section(std::string_view file, std::string_view key, std::string_view section);

/// A text in double quotes, as YAML has it.
[[nodiscard]] std::string yaml_quoted(std::string_view text);

}  // namespace ddl
