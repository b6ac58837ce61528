#pragma once

#include "core/error.hpp"

namespace CLI {
class App;
class ParseError;
}  // namespace CLI

namespace ddl {

/// Converts an error of the argument parser to this program's message and hint.
[[nodiscard]] Error usage_error(const CLI::App& program, const CLI::ParseError& error);

/// Throws Error if an option's value is empty, or is the name of another option. The parser itself accepts such values.
void refuse_missing_values(const CLI::App& program);

}  // namespace ddl
