#include "cli/options/number_option.hpp"

#include <algorithm>
#include <charconv>
#include <string_view>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "core/error.hpp"
#include "core/source_text.hpp"

namespace ddl {
namespace {

template <class Number>
CLI::Option* add(CLI::App& command, const std::string& name, std::optional<Number>& into, Number low, Number high,
                 const std::string& description, std::string_view kind, Number example) {
  const auto read = [name, &into, low, high, kind, example](const std::string& text) {
    Number value{};
    const char* const end = text.data() + text.size();
    const auto [stop, problem] = std::from_chars(text.data(), end, value);
    // Compared so that nan is refused.
    const bool within = value >= low && value <= high;
    if (problem != std::errc{} || stop != end || !within) {
      throw Error(fmt::format("{} is {}, which is not a {} from {} to {}", name, quote(text), kind, low, high),
                  fmt::format("in digits, as in {} {}", name, std::clamp(example, low, high)));
    }
    into = value;
  };
  CLI::Option* option = command.add_option_function<std::string>(name, read, description)->type_name("NUMBER");
  if (into) option->default_str(fmt::format("{}", *into));
  return option;
}

}  // namespace

CLI::Option* add_whole_number(CLI::App& command, const std::string& name, std::optional<std::int64_t>& into,
                              std::int64_t low, std::int64_t high, const std::string& description) {
  return add(command, name, into, low, high, description, "whole number", std::int64_t{64});
}

CLI::Option* add_number(CLI::App& command, const std::string& name, std::optional<double>& into, double low, double high,
                        const std::string& description) {
  return add(command, name, into, low, high, description, "number", 0.5);
}

}  // namespace ddl
