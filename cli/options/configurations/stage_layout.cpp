#include "cli/options/configurations/stage_layout.hpp"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <string>

namespace ddl {
namespace {

constexpr std::size_t longest_layout = 100'000;

/// Writes repeated letters and brackets out.
std::string written_out(std::string_view text) {
  std::string all;
  for (std::size_t at = 0; at < text.size() && all.size() < longest_layout;) {
    std::string part(1, text[at++]);
    if (part == "(") {
      const std::size_t end = std::min(text.find(')', at), text.size());
      part = text.substr(at, end - at);
      at = std::min(end + 1, text.size());
    }
    std::size_t times = 1;
    if (at < text.size() && text[at] == '*') {
      times = 0;
      for (++at; at < text.size() && std::isdigit(static_cast<unsigned char>(text[at])) != 0; ++at)
        times = std::min<std::size_t>(times * 10 + static_cast<std::size_t>(text[at] - '0'), longest_layout);
    }
    for (; times > 0 && all.size() < longest_layout; --times) all += part;
  }
  return all;
}

}  // namespace

std::vector<int> blocks_of_layout(std::string_view text) {
  // Brackets have no brackets inside, so letters inside of a bracket may be repeated as well.
  const std::string all = written_out(written_out(text));
  std::vector<int> blocks{0};
  for (const char letter : all) {
    if (letter == '|') blocks.push_back(0);
    if (letter == 't') ++blocks.back();
  }
  return blocks;
}

}  // namespace ddl
