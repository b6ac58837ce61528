#pragma once

#include <string>

namespace CLI {
class Option;
}

namespace ddl {

/// The name of an argument in the parser, in capitals. CLI11 2.4 refuses an argument that has the same name as an option of
/// a subcommand, such as `profile MODEL` and `profile import --model`. Options keep their names, which begin with a dash.
[[nodiscard]] std::string parser_name(const std::string& name);

/// The name of an option, or of an argument, as it was declared.
[[nodiscard]] std::string declared_name(const CLI::Option& option);
[[nodiscard]] std::string declared_argument(const CLI::Option& option);

}  // namespace ddl
