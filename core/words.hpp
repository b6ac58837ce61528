#pragma once

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>
#include <system_error>
#include <vector>

namespace ddl {

/// Returns the parts of a text between separators, which may be empty. A separator at the end adds no part; an empty text
/// has none. The parts refer to the text.
[[nodiscard]] inline std::vector<std::string_view> split(std::string_view text, std::string_view separators) {
  std::vector<std::string_view> parts;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find_first_of(separators, at), text.size());
    parts.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return parts;
}

/// Returns the text without the characters `blanks` at both ends.
[[nodiscard]] constexpr std::string_view trimmed(std::string_view text, std::string_view blanks = " ") {
  text.remove_prefix(std::min(text.find_first_not_of(blanks), text.size()));
  return text.substr(0, text.find_last_not_of(blanks) + 1);
}

/// Returns the last step of a path: `train.py` of `examples/train.py`.
[[nodiscard]] constexpr std::string_view last_step(std::string_view path) { return path.substr(path.rfind('/') + 1); }

/// Returns the decimal number that makes up the whole text: `64`, `-5`, and for floating-point types `1.5e3`. Returns
/// nothing if the text is not a number, if it has spaces or a leading `+`, or if `Number` cannot hold the number.
template <class Number = std::int64_t>
[[nodiscard]] std::optional<Number> number_in(std::string_view text) {
  Number number{};
  const auto [stop, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  return problem == std::errc{} && stop == text.data() + text.size() ? std::optional(number) : std::nullopt;
}

}  // namespace ddl
