#include "model_zoo/values/pattern.hpp"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "core/error.hpp"
#include "core/source_text.hpp"

namespace ddl {
namespace {

/// The longest group, and the most letters before a group, that `shortest_pattern` tries.
constexpr std::size_t longest_group = 24, most_before = 64;

void append(std::string& letters, std::string_view more, std::size_t times) {
  if (times > (max_pattern_letters - std::min(letters.size(), max_pattern_letters)) / std::max<std::size_t>(more.size(), 1))
    throw Error(fmt::format("a pattern of more than {} characters", max_pattern_letters));
  for (std::size_t i = 0; i < times; ++i) letters += more;
}

}  // namespace

std::string pattern_letters(std::string_view pattern) {
  std::string letters;
  for (std::size_t at = 0; at < pattern.size(); ++at) {
    if (pattern[at] != '(') {
      append(letters, pattern.substr(at, 1), 1);
      continue;
    }
    const std::size_t end = pattern.find(')', at);
    const std::string_view group = end == std::string_view::npos ? "" : pattern.substr(at + 1, end - at - 1);
    std::size_t times = 0;
    const char* const last = pattern.data() + pattern.size();
    const char* const number = group.empty() ? last : pattern.data() + end + 1;
    const auto [behind, problem] = std::from_chars(number, last, times);
    if (group.empty() || problem != std::errc{} || times == 0 || group.find('(') != std::string_view::npos) {
      throw Error(fmt::format("{} is not a group of a pattern", quote(pattern.substr(at))),
                  "write a group and its number of repetitions: (MEM*)4");
    }
    append(letters, group, times);
    at = static_cast<std::size_t>(behind - pattern.data()) - 1;
  }
  return letters;
}

std::string shortest_pattern(std::string_view letters) {
  std::string shortest(letters);
  for (std::size_t size = 1; size <= std::min(longest_group, letters.size()); ++size) {
    for (std::size_t before = 0; before <= std::min(most_before, letters.size() - size); ++before) {
      const std::string_view group = letters.substr(before, size);
      std::size_t times = 1;
      while (letters.substr(before + times * size, size) == group) ++times;
      if (times == 1) continue;
      std::string text =
          fmt::format("{}({}){}{}", letters.substr(0, before), group, times, letters.substr(before + times * size));
      if (text.size() < shortest.size()) shortest = std::move(text);
    }
  }
  return shortest;
}

}  // namespace ddl
