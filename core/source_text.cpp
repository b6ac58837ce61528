#include "core/source_text.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "core/file_stream.hpp"

namespace ddl {
namespace {

constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";
constexpr std::size_t tab_width = 4;
constexpr std::size_t widest_line = 110;
constexpr std::size_t longest_quote = 60;
constexpr std::size_t longest_path = 255;  ///< maximum length of a file name in a file system

unsigned char byte_at(std::string_view text, std::size_t at) { return static_cast<unsigned char>(text[at]); }

/// Bytes of the UTF-8 character at `at`: 1 to 4, or 0 if it is invalid (Unicode 15, table 3-7, well-formed byte sequences).
std::size_t utf8_length(std::string_view text, std::size_t at) {
  const unsigned char lead = byte_at(text, at);
  if (lead < 0x80) return 1;
  if (lead < 0xC2 || lead > 0xF4) return 0;
  const std::size_t length = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  if (at + length > text.size()) return 0;
  // The narrower range of the second byte excludes overlong forms, surrogates and code points above U+10FFFF.
  const unsigned char low = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
  const unsigned char high = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
  if (byte_at(text, at + 1) < low || byte_at(text, at + 1) > high) return 0;
  for (std::size_t i = 2; i < length; ++i) {
    if ((byte_at(text, at + i) & 0xC0U) != 0x80U) return 0;
  }
  return length;
}

/// Whether the character at `at`, `length` bytes long, is a control character of the sets C0 or C1.
/// Terminals interpret C1 characters like escape sequences.
bool is_control(std::string_view text, std::size_t at, std::size_t length) {
  const unsigned char first = byte_at(text, at);
  return first < 0x20 || first == 0x7F || (length == 2 && first == 0xC2 && byte_at(text, at + 1) < 0xA0);
}

/// Whether the character is a text-direction mark, which makes a text look like a different text (Unicode 15, section 23.2;
/// Trojan Source, CVE-2021-42574), or a separator of lines or paragraphs.
bool changes_direction(std::string_view text, std::size_t at, std::size_t length) {
  if (length == 2) return text.substr(at, 2) == "\xD8\x9C";
  if (length != 3 || byte_at(text, at) != 0xE2) return false;
  const unsigned char second = byte_at(text, at + 1);
  const unsigned char third = byte_at(text, at + 2);
  return (second == 0x80 && (third == 0x8E || third == 0x8F || (third >= 0xA8 && third <= 0xAE))) ||
         (second == 0x81 && third >= 0xA6 && third <= 0xA9);
}

std::optional<std::size_t> find_non_text(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = utf8_length(text, at);
    if (length == 0) return at;
    const char c = text[at];
    const bool line_break = c == '\n' || (c == '\r' && at + 1 < text.size() && text[at + 1] == '\n');
    if (length == 1 && is_control(text, at, length) && c != '\t' && !line_break) return at;
    at += length;
  }
  return std::nullopt;
}

/// Splits a text into the columns that a terminal displays, with one entry per column.
std::vector<std::string> shown_columns(std::string_view text) {
  std::vector<std::string> columns;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = utf8_length(text, at);
    if (text[at] == '\t') {
      columns.insert(columns.end(), tab_width, " ");
    } else if (length == 0 || is_control(text, at, length) || changes_direction(text, at, length)) {
      columns.emplace_back("?");
    } else {
      columns.emplace_back(text.substr(at, length));
    }
    at += std::max<std::size_t>(length, 1);
  }
  return columns;
}

std::string shown(std::string_view text) { return fmt::format("{}", fmt::join(shown_columns(text), "")); }

/// Returns the line and the caret. A long line is cut to a window around the caret.
std::string excerpt(std::string_view line, std::size_t caret_byte) {
  caret_byte = std::min(caret_byte, line.size());
  // The line is first cut by bytes, so that a huge line costs no more than other lines. A character
  // that this cut splits is outside of the shown columns, because a column has at most four bytes.
  const std::size_t reach = 8 * widest_line;
  const std::size_t from = caret_byte > reach ? caret_byte - reach : 0;
  const std::vector<std::string> before = shown_columns(line.substr(from, caret_byte - from));
  const std::vector<std::string> after = shown_columns(line.substr(caret_byte, reach));

  std::size_t first = 0;
  std::size_t last = after.size();
  if (before.size() + after.size() > widest_line) {
    const std::size_t kept_before = std::min(before.size(), widest_line - std::min(after.size(), widest_line / 3));
    first = before.size() - kept_before;
    last = std::min(after.size(), widest_line - kept_before);
  }
  const std::string_view left = first > 0 ? "..." : "";
  const std::string_view right = last < after.size() ? "..." : "";
  return fmt::format("  {}{}{}{}\n  {:{}}^", left,
                     fmt::join(before.begin() + static_cast<std::ptrdiff_t>(first), before.end(), ""),
                     fmt::join(after.begin(), after.begin() + static_cast<std::ptrdiff_t>(last), ""), right, "",
                     left.size() + before.size() - first);
}

/// Returns the character at `at` as an escape. `length`: the number of its bytes; 0 for an invalid byte.
std::string escape(std::string_view text, std::size_t at, std::size_t length) {
  const unsigned first = byte_at(text, at);
  switch (length) {
    case 2:
      return fmt::format("\\u{:04X}", ((first & 0x1FU) << 6U) | (byte_at(text, at + 1) & 0x3FU));
    case 3:
      return fmt::format(
          "\\u{:04X}", ((first & 0x0FU) << 12U) | ((byte_at(text, at + 1) & 0x3FU) << 6U) | (byte_at(text, at + 2) & 0x3FU));
    default:
      return first == '\n' ? "\\n" : first == '\t' ? "\\t" : fmt::format("\\x{:02X}", first);
  }
}

/// Returns the position of the first character from `at` on that a terminal would display
/// differently; the end of the text if there is no such character.
std::size_t next_unprintable(std::string_view text, std::size_t at, bool lines) {
  while (at < text.size()) {
    const unsigned char first = byte_at(text, at);
    if (first >= 0x20 && first < 0x7F) {
      ++at;
      continue;
    }
    if (lines && (first == '\n' || first == '\t')) {
      ++at;
      continue;
    }
    const std::size_t length = utf8_length(text, at);
    if (length == 0 || is_control(text, at, length) || changes_direction(text, at, length)) return at;
    at += length;
  }
  return at;
}

std::string with_escapes(std::string_view text, bool lines) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t next = next_unprintable(text, at, lines);
    out += text.substr(at, next - at);
    if (next == text.size()) break;
    const std::size_t length = utf8_length(text, next);
    out += escape(text, next, length);
    at = next + std::max<std::size_t>(length, 1);
  }
  return out;
}

/// Returns the text in quotes, cut after `longest` columns.
std::string quoted(std::string_view text, std::size_t longest) {
  std::vector<std::string> columns = shown_columns(text.substr(0, 4 * longest));
  if (columns.size() > longest) {
    columns.resize(longest);
    columns.emplace_back("...");
  }
  return fmt::format("'{}'", fmt::join(columns, ""));
}

}  // namespace

std::string placed_message(std::string_view origin, int line, int column, std::string_view message,
                           std::string_view line_text) {
  std::string result = fmt::format("{}:{}:{}: {}", shown(origin), line, column, shown(message));
  if (line_text.find_first_not_of(" \t\r") != std::string_view::npos) {
    result += '\n';
    result += excerpt(line_text, static_cast<std::size_t>(std::max(column, 1) - 1));
  }
  return result;
}

std::string quote(std::string_view text) { return quoted(text, longest_quote); }
std::string quote_path(std::string_view path) { return quoted(path, longest_path); }

std::string visible(std::string_view text) { return with_escapes(text, false); }
std::string visible_lines(std::string_view text) { return with_escapes(text, true); }

std::optional<std::string_view> find_unprintable(std::string_view text) {
  const std::size_t at = next_unprintable(text, 0, true);
  if (at == text.size()) return std::nullopt;
  return text.substr(at, std::max<std::size_t>(utf8_length(text, at), 1));
}

SourceText::SourceText(std::string text, std::string origin) : text_(std::move(text)), origin_(std::move(origin)) {
  if (text_.starts_with(byte_order_mark)) text_.erase(0, byte_order_mark.size());
  line_starts_.push_back(0);
  for (std::size_t at = text_.find('\n'); at != std::string::npos; at = text_.find('\n', at + 1))
    line_starts_.push_back(at + 1);
  if (const auto bad = find_non_text(text_)) {
    throw error(*bad, fmt::format("not a text file: byte 0x{:02X} does not occur in UTF-8 text", byte_at(text_, *bad)),
                "save the file as UTF-8 text");
  }
}

Place SourceText::place(std::size_t offset) const {
  offset = std::min(offset, text_.size());
  const auto next_line = std::upper_bound(line_starts_.begin(), line_starts_.end(), offset);
  return {.file = origin_,
          .line = static_cast<int>(next_line - line_starts_.begin()),
          .column = static_cast<int>(offset - *(next_line - 1)) + 1};
}

Error SourceText::error(std::size_t offset, std::string_view message, std::string hint) const {
  const Place where = place(offset);
  const std::size_t start = line_starts_[static_cast<std::size_t>(where.line - 1)];
  std::string_view line = std::string_view(text_).substr(start, text_.find('\n', start) - start);
  if (line.ends_with('\r')) line.remove_suffix(1);
  return Error(placed_message(origin_, where.line, where.column, message, line), std::move(hint), where);
}

std::string read_file(const std::string& path, std::size_t max_bytes) {
  // A pipe can be read once. Its content is kept, because a command may read a file again when its format is known.
  static std::mutex mutex;
  static std::map<std::string, std::string> of_pipes;
  std::error_code unknown;
  const bool is_pipe = std::filesystem::is_fifo(path, unknown);
  const std::lock_guard lock(mutex);
  if (const auto known = of_pipes.find(path); is_pipe && known != of_pipes.end()) return known->second;
  FileStream file(path, max_bytes);
  std::string content;
  std::array<char, 65536> block{};
  while (const std::size_t count = file.read(block)) content.append(block.data(), count);
  if (is_pipe) of_pipes[path] = content;
  return content;
}

}  // namespace ddl
