#pragma once

#include <string>
#include <string_view>

namespace ddl {

/// Returns the text with ASCII capital letters converted to lower case, independent of the locale.
[[nodiscard]] inline std::string lower_case(std::string_view text) {
  std::string lowered(text);
  for (char& c : lowered) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return lowered;
}

}  // namespace ddl
