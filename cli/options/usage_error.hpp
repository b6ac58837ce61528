#pragma once

#include "core/error.hpp"

namespace CLI {
class App;
class ParseError;
}  // namespace CLI

namespace ddl {

/// Converts an error of the argument parser to a message of this program, with a hint.
[[nodiscard]] Error usage_error(const CLI::App& program, const CLI::ParseError& error);

/// Throws Error for an option whose value is empty or is the name of another option. The parser accepts such values.
void refuse_missing_values(const CLI::App& program);

}  // namespace ddl
