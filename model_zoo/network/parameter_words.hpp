#pragma once

#include <span>
#include <string>
#include <string_view>

namespace ddl {

/// Returns a hint for a word that is not the name of a parameter. For a word of another library, the hint gives the
/// parameter with that meaning. Otherwise, the hint gives the parameter with the most similar name, or else all parameters.
[[nodiscard]] std::string suggest_parameter(std::string_view word, std::span<const std::string> known);

}  // namespace ddl
