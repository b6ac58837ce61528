#pragma once

#include <string>

namespace CLI {
class Option;
}

namespace ddl {

/// Returns the name of an argument or option in the parser. Arguments are in capitals, because
/// CLI11 2.4 refuses an argument with the same name as an option of a subcommand, such as `profile
/// MODEL` and `profile import --model`. Options keep their names, which begin with a dash.
[[nodiscard]] std::string parser_name(const std::string& name);

/// Returns the name of an option or argument, as it was declared.
[[nodiscard]] std::string declared_name(const CLI::Option& option);
[[nodiscard]] std::string declared_argument(const CLI::Option& option);

}  // namespace ddl
