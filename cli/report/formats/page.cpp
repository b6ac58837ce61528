#include "cli/report/formats/page.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>
#include <cstdlib>

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "core/words.hpp"

namespace ddl {
namespace {

struct Likeness {
  std::string_view sign, ascii;
};
constexpr std::array<Likeness, 34> likenesses{
    {{"▇", "#"},     {"▒", "="},    {"░", "."},     {"·", "."},     {"×", "x"},     {"…", "..."}, {"–", "-"},
     {"—", "-"},     {"−", "-"},    {"→", ">"},     {"←", "<"},     {"≤", "<="},    {"≥", ">="},  {"≈", "~"},
     {"α", "alpha"}, {"β", "beta"}, {"γ", "gamma"}, {"δ", "delta"}, {"θ", "theta"}, {"τ", "tau"}, {"φ", "phi"},
     {"μ", "u"},     {"µ", "u"},    {"²", "^2"},    {"³", "^3"},    {"│", "|"},     {"─", "-"},   {"╶", "-"},
     {"┌", "+"},     {"└", "+"},    {"├", "+"},     {"┤", "+"},     {"⎯", "-"},     {"★", "*"}}};

/// Returns the code point at `at`, and its length in bytes. An invalid byte counts as a code point.
std::pair<std::uint32_t, std::size_t> code_point(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t place) { return static_cast<unsigned char>(text[place]); };
  const unsigned char first = byte(at);
  const std::size_t length = first >= 0xF0U ? 4 : first >= 0xE0U ? 3 : first >= 0xC0U ? 2 : 1;
  if (length == 1 || at + length > text.size()) return {first, 1};
  std::uint32_t code = first & (0xFFU >> (length + 1));
  for (std::size_t i = 1; i < length; ++i) code = (code << 6U) | (byte(at + i) & 0x3FU);
  return {code, length};
}

bool locale_is_utf8() {
  for (const char* const name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const char* const value = std::getenv(name);
    if (value == nullptr || *value == '\0') continue;
    std::string locale(value);
    std::transform(locale.begin(), locale.end(), locale.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return locale.find("utf-8") != std::string::npos || locale.find("utf8") != std::string::npos;
  }
  return false;
}

}  // namespace

std::size_t columns_said() {
  const char* const said = std::getenv("COLUMNS");
  return said == nullptr ? 0 : number_in<std::size_t>(said).value_or(0);
}

Page page_of_output(bool to_file) {
  Page page;
  std::size_t width = 0;
  winsize terminal{};
  if (!to_file && isatty(STDOUT_FILENO) == 1 && ioctl(STDOUT_FILENO, TIOCGWINSZ, &terminal) == 0) width = terminal.ws_col;
  if (width == 0) width = columns_said();
  if (width > 0) page.width = std::clamp(width, Page::least_width, most_page_width);
  page.ascii = !to_file && !locale_is_utf8();
  return page;
}

std::string ascii_of(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    if (static_cast<unsigned char>(text[at]) < 0x80U) {
      out += text[at++];
      continue;
    }
    const auto* const known =
        std::ranges::find_if(likenesses, [&](const Likeness& each) { return text.substr(at).starts_with(each.sign); });
    if (known != likenesses.end()) {
      out += known->ascii;
      at += known->sign.size();
      continue;
    }
    const auto [code, length] = code_point(text, at);
    out += code > 0xFFFFU ? fmt::format("\\U{:08X}", code) : fmt::format("\\u{:04X}", code);
    at += length;
  }
  return out;
}

}  // namespace ddl
