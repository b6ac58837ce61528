#include "core/number_rows.hpp"

#include <algorithm>

namespace ddl {
namespace {

constexpr auto none = std::string_view::npos;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// Returns the length of the first number of a list item of numbers. Zero if the item is short or contains anything else.
std::size_t first_number_of(std::string_view item) {
  constexpr std::size_t few = 100;
  if (item.size() <= few || item.back() == ' ' || item.find_first_not_of("0123456789 .;+-") != none) return 0;
  const bool starts_with_number = is_digit(item[0]) || (item[0] == '-' && is_digit(item[1]));
  return starts_with_number ? std::min(item.find_first_of(" ;"), item.size()) : 0;
}

}  // namespace

std::size_t ShortenedText::original(std::size_t at) const {
  const auto after =
      std::upper_bound(cuts.begin(), cuts.end(), at, [](std::size_t value, const Cut& each) { return value < each.cut; });
  return after == cuts.begin() ? at : at + std::prev(after)->removed;
}

ShortenedText shorten_number_rows(std::string_view text) {
  ShortenedText result;
  std::size_t copied = 0;
  for (std::size_t line = 0; line < text.size();) {
    const std::size_t end = std::min(text.find('\n', line), text.size()), next = std::min(end + 1, text.size());
    const std::size_t dash = text.find_first_not_of(' ', line);
    const bool is_item = dash < end && text[dash] == '-' && dash + 1 < end && text[dash + 1] == ' ';
    const std::size_t begin = is_item ? text.find_first_not_of(' ', dash + 1) : none;
    const std::size_t kept = begin < end ? first_number_of(text.substr(begin, end - begin)) : 0;
    // A line with a larger indentation, or after blank lines, may continue the item.
    const std::size_t following = text.find_first_not_of(' ', next);
    const bool is_whole =
        next == text.size() || (following != none && text[following] != '\n' && following - next <= dash - line);
    if (kept > 0 && is_whole) {
      result.text.append(text, copied, begin + kept - copied);
      copied = end;
      const std::size_t cut = result.text.size();
      result.cuts.push_back({begin, end, cut, end - cut});
    }
    line = next;
  }
  result.text.append(text, copied);
  return result;
}

}  // namespace ddl
