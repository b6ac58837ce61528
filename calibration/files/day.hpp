#pragma once

#include <algorithm>
#include <chrono>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "core/source_text.hpp"
#include "core/yaml_node.hpp"

namespace ddl {

/// Whether a text is a valid date, such as `2026-01-31`.
[[nodiscard]] inline bool is_day(const std::string& text) {
  constexpr std::string_view form = "dddd-dd-dd";
  const auto fits = [](char c, char expected) { return expected == 'd' ? c >= '0' && c <= '9' : c == expected; };
  if (!std::equal(text.begin(), text.end(), form.begin(), form.end(), fits)) return false;
  const auto number = [&](std::size_t at, std::size_t digits) { return std::stoi(text.substr(at, digits)); };
  const std::chrono::year_month_day day{std::chrono::year(number(0, 4)),
                                        std::chrono::month(static_cast<unsigned>(number(5, 2))),
                                        std::chrono::day(static_cast<unsigned>(number(8, 2)))};
  return day.ok();
}

/// Reads a date from a file. For an invalid date, throws Error that points to the node.
[[nodiscard]] inline std::string read_day(const YamlNode& node) {
  std::string text = node.text();
  if (!is_day(text)) node.fail(fmt::format("{} is not a valid date", quote(text)), "year, month and day, as in 2026-01-31");
  return text;
}

}  // namespace ddl
