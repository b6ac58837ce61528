#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ddl {

/// What is certain of a byte of a script, once variables stand for their values. What is worse is greater.
enum class Certainty : std::uint8_t {
  known,
  optional,     ///< only one way through branches that are not decided has it
  of_branches,  ///< these ways have different values
  outside,      ///< the file does not say it
};

/// Where a byte stands.
struct ByteOrigin {
  std::uint32_t offset = 0;  ///< in bytes
  std::uint8_t file = 0;     ///< of the sources of its script
  Certainty certainty = Certainty::known;
};

/// A text of a script, each of whose bytes knows where it stands.
struct PlacedText {
  std::string text{};
  std::vector<ByteOrigin> origins{};  ///< of each byte
  ByteOrigin start{};                 ///< of an empty text

  [[nodiscard]] ByteOrigin origin() const { return origins.empty() ? start : origins.front(); }
  [[nodiscard]] std::size_t offset() const { return origin().offset; }
  /// The worst of its bytes.
  [[nodiscard]] Certainty certainty() const;
  [[nodiscard]] bool is_known() const { return certainty() == Certainty::known; }
  [[nodiscard]] PlacedText part(std::size_t from, std::size_t to = std::string::npos) const;

  void add(char c, ByteOrigin origin) {
    text += c;
    origins.push_back(origin);
  }
  void add(const PlacedText& other);
  /// No byte is more certain.
  void mark(Certainty certainty, std::size_t from = 0, std::size_t to = std::string::npos);
};

/// A text that stands in a file as it is.
[[nodiscard]] PlacedText placed_text(const std::string& text, std::uint8_t file);
/// Parts between blanks and ends of lines.
[[nodiscard]] std::vector<PlacedText> split_words(const PlacedText& text);

/// Characters of shells.
[[nodiscard]] constexpr bool is_shell_digit(char c) { return c >= '0' && c <= '9'; }
[[nodiscard]] constexpr bool begins_shell_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
[[nodiscard]] constexpr bool goes_on_in_shell_name(char c) { return begins_shell_name(c) || is_shell_digit(c); }
[[nodiscard]] constexpr bool is_shell_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

}  // namespace ddl
