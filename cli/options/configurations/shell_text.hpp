#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ddl {

/// How certain a byte of a word is after variables are expanded. A less certain byte has a greater value.
enum class Certainty : std::uint8_t {
  known,
  optional,     ///< only some of the branches that may run contain the byte
  of_branches,  ///< the branches that may run have different values
  outside,      ///< the script does not set the value
};

/// The position of a byte, and its certainty.
struct ByteOrigin {
  std::uint32_t offset = 0;  ///< in bytes
  std::uint8_t file = 0;     ///< index in ShellScript::sources
  Certainty certainty = Certainty::known;
};

/// A text from a script, with the origin of each byte.
struct PlacedText {
  std::string text{};
  std::vector<ByteOrigin> origins{};  ///< one per byte of `text`
  ByteOrigin start{};                 ///< the origin if `text` is empty

  [[nodiscard]] ByteOrigin origin() const { return origins.empty() ? start : origins.front(); }
  [[nodiscard]] std::size_t offset() const { return origin().offset; }
  /// Returns the certainty of the text's least certain byte.
  [[nodiscard]] Certainty certainty() const;
  [[nodiscard]] bool is_known() const { return certainty() == Certainty::known; }
  [[nodiscard]] PlacedText part(std::size_t from, std::size_t to = std::string::npos) const;

  void add(char c, ByteOrigin origin) {
    text += c;
    origins.push_back(origin);
  }
  void add(const PlacedText& other);
  /// Appends a space before another word. The space separates words, even if the other word is unknown.
  void add_blank(const PlacedText& before) {
    ByteOrigin origin = before.origin();
    if (origin.certainty == Certainty::outside) origin.certainty = Certainty::known;
    add(' ', origin);
  }
  /// Lowers the certainty of the bytes from `from` to `to`, so that none is more certain than `certainty`.
  void mark(Certainty certainty, std::size_t from = 0, std::size_t to = std::string::npos);
};

/// Returns the text of a whole file with the position of each byte. `file`: index in ShellScript::sources.
[[nodiscard]] PlacedText placed_text(const std::string& text, std::uint8_t file);
/// Returns the value of a variable whose value is unknown: its name.
[[nodiscard]] PlacedText unknown_variable(const std::string& name, ByteOrigin origin);
/// Splits a text at spaces and line ends.
[[nodiscard]] std::vector<PlacedText> split_words(const PlacedText& text);

/// Classes of characters in shell scripts.
[[nodiscard]] constexpr bool is_shell_digit(char c) { return c >= '0' && c <= '9'; }
[[nodiscard]] constexpr bool begins_shell_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
[[nodiscard]] constexpr bool goes_on_in_shell_name(char c) { return begins_shell_name(c) || is_shell_digit(c); }
/// Whether a text can be the name of a variable.
[[nodiscard]] constexpr bool is_shell_name(std::string_view text) {
  return !text.empty() && begins_shell_name(text.front()) && std::ranges::all_of(text, goes_on_in_shell_name);
}
[[nodiscard]] constexpr bool is_shell_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

}  // namespace ddl
