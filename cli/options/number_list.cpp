#include "cli/options/number_list.hpp"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "cli/options/option_value.hpp"
#include "core/error.hpp"
#include "core/source_text.hpp"

namespace ddl {

std::vector<std::int64_t> parse_number_list(const std::string& option, std::string_view text, std::int64_t low,
                                            std::int64_t high) {
  const auto refuse = [&](std::string_view part) {
    if (part.empty())
      throw Error(fmt::format("{} {} lacks a number", option, quote(text)),
                  fmt::format("write for example {0} 8,16,24 or {0} 8..64", option));
    const std::string hint = number_hint(option, part);
    throw Error(fmt::format("{} is {}, which is not a whole number from {} to {}", option, quote(part), low, high),
                hint.empty() ? fmt::format("write it in digits, as in {0} 64, {0} 8,16,24 or {0} 8..64", option) : hint);
  };
  const auto number = [&](std::string_view part) {
    std::int64_t value = 0;
    const auto [stop, problem] = std::from_chars(part.data(), part.data() + part.size(), value);
    if (problem != std::errc{} || stop != part.data() + part.size() || value < low || value > high) refuse(part);
    return value;
  };
  std::vector<std::int64_t> numbers;
  const auto add = [&](std::int64_t value) {
    if (std::find(numbers.begin(), numbers.end(), value) != numbers.end())
      throw Error(fmt::format("{} {} has {} twice", option, quote(text), value), "name it once");
    if (numbers.size() == most_list_values)
      throw Error(fmt::format("{} {} has more than {} numbers", option, quote(text), most_list_values), "use fewer");
    numbers.push_back(value);
  };
  for (const std::string& part : comma_separated(text)) {
    const std::size_t dots = part.find("..");
    if (dots == std::string::npos) {
      add(number(part));
      continue;
    }
    const std::int64_t first = number(std::string_view(part).substr(0, dots));
    const std::int64_t last = number(std::string_view(part).substr(dots + 2));
    if (last < first)
      throw Error(fmt::format("{} {} ends before it begins", option, quote(part)), "write the smaller number first");
    for (std::int64_t value = first; value <= last; value *= 2) {
      add(value);
      if (value > last / 2) break;
    }
  }
  return numbers;
}

Option add_number_list(const Command& command, const std::string& name, std::vector<std::int64_t>& into, std::int64_t low,
                       std::int64_t high, const std::string& description) {
  const std::string shown = name.substr(0, name.find(','));
  return command
      .add_option_function(
          name, [shown, &into, low, high](const std::string& text) { into = parse_number_list(shown, text, low, high); },
          description)
      .type_name("NUMBER[,..]");
}

}  // namespace ddl
