#pragma once

#include <span>
#include <string>
#include <string_view>

namespace ddl {

/// The hint for a parameter that a model does not have. It names the parameter that other libraries call by this name, else
/// the most similar one, else all.
[[nodiscard]] std::string suggest_parameter(std::string_view word, std::span<const std::string> known);

}  // namespace ddl
