#pragma once

#include <span>
#include <string>
#include <string_view>

namespace ddl {

/// The hint for a word that is not the name of a parameter. The hint gives our name for this word of other libraries, or
/// else the parameter with the most similar name, or else all parameters.
[[nodiscard]] std::string suggest_parameter(std::string_view word, std::span<const std::string> known);

}  // namespace ddl
