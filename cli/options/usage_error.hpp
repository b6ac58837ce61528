#pragma once

#include "core/error.hpp"

namespace CLI {
class App;
class ParseError;
}  // namespace CLI

namespace ddl {

/// Converts an error of the argument parser into this program's words, with a hint.
[[nodiscard]] Error usage_error(const CLI::App& program, const CLI::ParseError& error);

/// Refuses what the parser accepts: an option whose value is empty, or is the name of another option.
void refuse_missing_values(const CLI::App& program);

}  // namespace ddl
