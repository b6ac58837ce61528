#include "cli/options/configurations/shell_text.hpp"

#include <algorithm>

namespace ddl {

Certainty PlacedText::certainty() const {
  Certainty worst = Certainty::known;
  for (const ByteOrigin& origin : origins) worst = std::max(worst, origin.certainty);
  return worst;
}

PlacedText PlacedText::part(std::size_t from, std::size_t to) const {
  from = std::min(from, text.size());
  to = std::clamp(to, from, text.size());
  PlacedText result{.text = text.substr(from, to - from), .start = origin()};
  result.origins.assign(origins.begin() + static_cast<std::ptrdiff_t>(from),
                        origins.begin() + static_cast<std::ptrdiff_t>(to));
  return result;
}

void PlacedText::add(const PlacedText& other) {
  if (text.empty() && origins.empty()) start = other.origin();
  text += other.text;
  origins.insert(origins.end(), other.origins.begin(), other.origins.end());
}

void PlacedText::mark(Certainty certainty, std::size_t from, std::size_t to) {
  for (std::size_t i = from; i < std::min(to, origins.size()); ++i)
    origins[i].certainty = std::max(origins[i].certainty, certainty);
}

PlacedText placed_text(const std::string& text, std::uint8_t file) {
  PlacedText placed{.text = text, .start = {.offset = 0, .file = file}};
  placed.origins.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i)
    placed.origins.push_back({.offset = static_cast<std::uint32_t>(i), .file = file});
  return placed;
}

PlacedText unknown_variable(const std::string& name, ByteOrigin origin) {
  PlacedText value{.text = "$" + name, .start = origin};
  value.origins.assign(value.text.size(), origin);
  value.mark(Certainty::outside);
  return value;
}

std::vector<PlacedText> split_words(const PlacedText& text) {
  std::vector<PlacedText> words;
  const auto separates = [&](std::size_t at) {
    return (is_shell_blank(text.text[at]) || text.text[at] == '\n') && text.origins[at].certainty != Certainty::outside;
  };
  for (std::size_t at = 0; at < text.text.size();) {
    std::size_t end = at;
    while (end < text.text.size() && !separates(end)) ++end;
    if (end > at) words.push_back(text.part(at, end));
    at = end + 1;
  }
  return words;
}

}  // namespace ddl
