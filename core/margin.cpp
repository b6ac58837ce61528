#include "core/margin.hpp"

#include <charconv>

#include <fmt/format.h>

#include "core/source_text.hpp"

namespace ddl {

std::optional<Margin> parse_margin(std::string_view text, UnitProblem& problem) {
  if (!text.ends_with('%')) {
    const std::optional<Bytes> bytes = parse_plausible(text, plausible_size, problem);
    if (!bytes) return std::nullopt;
    return Margin{*bytes, 0};
  }
  std::string_view number = text.substr(0, text.size() - 1);
  while (number.ends_with(' ')) number.remove_suffix(1);
  double percent = 0;
  const auto [stop, error] = std::from_chars(number.data(), number.data() + number.size(), percent);
  // This form of the condition is false for NaN, and true for 0 and -0.
  const bool within = percent >= 0 && percent < 100;
  if (error != std::errc{} || stop != number.data() + number.size() || !within) {
    problem = {fmt::format("{} is not a share from 0 % to less than 100 %", quote(text)), "use for example 5 %, or 2 GiB"};
    return std::nullopt;
  }
  return Margin{{}, percent == 0 ? 0.0 : percent};
}

std::string print_margin(const Margin& margin) {
  return margin.percent > 0 ? fmt::format("{} %", margin.percent) : print_quantity(margin.bytes);
}

}  // namespace ddl
