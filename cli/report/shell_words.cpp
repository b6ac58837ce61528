#include "cli/report/shell_words.hpp"

#include <algorithm>
#include <cctype>
#include <string_view>

#include <fmt/format.h>

#include "core/source_text.hpp"

namespace ddl {
namespace {

std::string shell_word(const std::string& word) {
  const auto is_plain = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
           std::string_view("_-+=./,:@%").find(c) != std::string_view::npos;
  };
  if (!word.empty() && std::ranges::all_of(word, is_plain)) return word;
  if (visible(word) == word) {
    std::string out = "'";
    for (const char c : word) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return out + "'";
  }
  std::string out = "$'";
  for (const char c : word) {
    const auto byte = static_cast<unsigned char>(c);
    const bool is_shown = byte >= 0x20 && byte < 0x7f && c != '\'' && c != '\\';
    // Octal escapes have exactly three digits. Hexadecimal escapes are not used, because they have
    // no maximum length in some shells.
    out += is_shown ? std::string(1, c) : fmt::format("\\{:03o}", static_cast<unsigned>(byte));
  }
  return out + "'";
}

}  // namespace

std::string shell_words(std::span<const std::string> words) {
  std::string line;
  for (const std::string& word : words) line += (line.empty() ? "" : " ") + shell_word(word);
  return line;
}

}  // namespace ddl
