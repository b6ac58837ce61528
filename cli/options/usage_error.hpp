#pragma once

#include "core/error.hpp"

namespace CLI {
class App;
class ParseError;
}  // namespace CLI

namespace ddl {

/// What the argument parser could not take, said in the words of this program, with what to do about it.
[[nodiscard]] Error usage_error(const CLI::App& program, const CLI::ParseError& error);

/// Refuses what the parser lets through: an option whose value is empty, or is the name of another option.
void refuse_missing_values(const CLI::App& program);

}  // namespace ddl
