#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/options/command_line.hpp"
#include "core/enum_array.hpp"
#include "core/error.hpp"
#include "core/units.hpp"

namespace ddl {

/// Throws Error, which says that `text` is not one of the words that `option` takes.
[[noreturn]] void unknown_choice(const std::string& option, const std::string& text,
                                 const std::vector<std::string_view>& known);
/// Returns a hint for a number with other text: `8xA100` as the value of --gpus, or `4M` as a batch of tokens. Empty for any
/// other text.
[[nodiscard]] std::string number_hint(std::string_view option, std::string_view text);
/// Returns the value that `parse` gives for the word `text` of `option`. Throws Error if `parse` does not know the word.
template <class Parse>
[[nodiscard]] auto chosen(const std::string& option, const std::string& text, const Parse& parse,
                          const std::vector<std::string_view>& known) {
  const auto value = parse(text);
  if (!value) unknown_choice(option, text, known);
  return *value;
}
template <NamedEnum Enum>
[[nodiscard]] Enum chosen(const std::string& option, const std::string& text) {
  const std::optional<Enum> value = parse_enum<Enum>(text);
  if (!value) unknown_choice(option, text, {enum_names<Enum>.begin(), enum_names<Enum>.end()});
  return *value;
}
/// Splits a text at commas. An empty text gives one empty word.
[[nodiscard]] std::vector<std::string> comma_separated(std::string_view text);

/// Adds an option whose value `parse` reads. If `parse` returns empty and a problem, throws Error, which names the option.
/// `hint`: replaces the hint of the problem, unless it is empty.
template <class Value, class Parse>
Option add_parsed(const Command& command, const std::string& name, Value& into, const Parse& parse, const std::string& hint,
                  const std::string& type, const std::string& description) {
  const auto read = [name, &into, parse, hint](const std::string& text) {
    UnitProblem problem;
    auto value = parse(text, problem);
    if (!value) throw Error(name + ": " + problem.message, hint.empty() ? problem.hint : hint);
    into = *std::move(value);  // NOLINT(bugprone-optional-value-conversion): `into` may be optional
  };
  return command.add_option_function(name, read, description, type);
}

/// Adds an option that takes a whole number in [low, high], written in digits only. Other values
/// throw Error, which names the option and the range.
Option add_whole_number(const Command& command, const std::string& name, std::optional<std::int64_t>& into, std::int64_t low,
                        std::int64_t high, const std::string& description);

/// Adds an option that takes a number of tokens from 1 to `high`. 4k is 4,096, as in names of models.
Option add_tokens(const Command& command, const std::string& name, std::optional<std::int64_t>& into, std::int64_t high,
                  const std::string& description);

/// Adds an option that takes a finite number in [low, high], with a decimal point and an exponent as in JSON.
Option add_number(const Command& command, const std::string& name, std::optional<double>& into, double low, double high,
                  const std::string& description);

/// The largest number of values in a list of GPUs or batches.
inline constexpr std::size_t most_list_values = 64;

/// Parses a list of numbers, `8,16,24`; a range in which each number is twice the previous one, `8..1024`; or both,
/// `1,8..64`. Returns the numbers in the order of the text. Throws Error that names `option` if the text is invalid, if a
/// number is not in [low, high] or occurs twice, or if there are more than most_list_values numbers.
[[nodiscard]] std::vector<std::int64_t> parse_number_list(const std::string& option, std::string_view text, std::int64_t low,
                                                          std::int64_t high);

Option add_number_list(const Command& command, const std::string& name, std::vector<std::int64_t>& into, std::int64_t low,
                       std::int64_t high, const std::string& description);

}  // namespace ddl
