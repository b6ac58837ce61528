#include "calibration/inputs/tool_text.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>

namespace ddl {

std::string_view tool_text(std::string_view text) {
  constexpr std::string_view blanks = " \t\r\n|";
  const std::size_t first = text.find_first_not_of(blanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

std::vector<std::string_view> tool_parts(std::string_view text, char sign) {
  std::vector<std::string_view> parts;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(sign, at), text.size());
    parts.push_back(tool_text(text.substr(at, end - at)));
    at = end + 1;
  }
  return parts;
}

std::optional<double> tool_number(std::string_view text) {
  double number = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (problem != std::errc() || end == text.data() || !(number >= 0 && number < 1e15)) return std::nullopt;
  return number;
}

std::vector<std::string_view> words_in(std::string_view line) {
  constexpr std::string_view gaps_between = " \t\r";
  std::vector<std::string_view> words;
  for (std::size_t at = line.find_first_not_of(gaps_between); at != std::string_view::npos;) {
    const std::size_t end = std::min(line.find_first_of(gaps_between, at), line.size());
    words.push_back(line.substr(at, end - at));
    at = line.find_first_not_of(gaps_between, end);
  }
  return words;
}

std::string without_escape_codes(std::string_view text) {
  std::string plain;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] != '\x1B') {
      plain += text[at];
      continue;
    }
    while (at < text.size() && std::isalpha(static_cast<unsigned char>(text[at])) == 0) ++at;
  }
  return plain;
}

}  // namespace ddl
