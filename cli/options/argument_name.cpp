#include "cli/options/argument_name.hpp"

#include <CLI/CLI.hpp>

#include "core/lower_case.hpp"

namespace ddl {

std::string parser_name(const std::string& name) {
  // The names in one declaration are separated by commas.
  std::string named = name;
  bool begins = true, is_argument = false;
  for (char& c : named) {
    if (begins) is_argument = c != '-';
    if (is_argument && c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
    begins = c == ',';
  }
  return named;
}

std::string declared_argument(const CLI::Option& option) { return lower_case(option.get_name(true)); }

std::string declared_name(const CLI::Option& option) {
  return option.nonpositional() ? option.get_name() : declared_argument(option);
}

}  // namespace ddl
