#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.hpp"

namespace ddl {

/// Returns the common form of errors about a text: `origin:line:col: message`, then the line and a caret under the column.
/// `line` and `column` are counted from 1. Columns count bytes; the caret is aligned for tabs and UTF-8. A very long line is
/// cut around the caret. Control characters are shown as '?'. `message` and `line_text` must have no line break. A blank
/// line is not printed.
[[nodiscard]] std::string placed_message(std::string_view origin, int line, int column, std::string_view message,
                                         std::string_view line_text);

/// The user's text for a message: in 'quotes' and on one line, with control characters shown as '?', and cut if it is long.
[[nodiscard]] std::string quote(std::string_view text);
/// Returns the name of a file for a message. The name is shortened only if it exceeds the longest
/// possible file name, because a shortened name would not identify the file.
[[nodiscard]] std::string quote_path(std::string_view path);

/// Converts a text to one line of a terminal: control characters, line breaks, text-direction marks, and invalid UTF-8 are
/// shown as escapes, such as \x1B and \u202E.
[[nodiscard]] std::string visible(std::string_view text);
/// Returns the first character that `visible` would escape, except tabs and line breaks; empty if
/// there is no such character.
[[nodiscard]] std::optional<std::string_view> find_unprintable(std::string_view text);
/// Converts a text like `visible`, but keeps line breaks and tabs.
[[nodiscard]] std::string visible_lines(std::string_view text);

/// The text of one input file, which converts a byte offset into a line and column.
class SourceText {
 public:
  /// Drops a byte-order mark. Throws Error, which points to the first bad byte, if the text contains invalid UTF-8, a
  /// control character other than tab and line break, or a carriage return without a line feed.
  SourceText(std::string text, std::string origin);

  [[nodiscard]] const std::string& text() const { return text_; }
  [[nodiscard]] const std::string& origin() const { return origin_; }

  /// Returns the line and column of the byte at `offset`. An offset beyond the end counts as the end.
  [[nodiscard]] Place place(std::size_t offset) const;
  /// Returns an error that points to the byte `offset`, for the caller to throw.
  [[nodiscard]] Error error(std::size_t offset, std::string_view message, std::string hint = {}) const;

 private:
  std::string text_;
  std::string origin_;
  std::vector<std::size_t> line_starts_;
};

/// Maximum size of an input file in bytes, unless the file's format has a lower limit. A report
/// with its plans has a few MiB.
inline constexpr std::size_t max_file_bytes = std::size_t{64} << 20U;

/// Returns the whole file as bytes. Throws Error with `path` and the reason if the file cannot be
/// read (missing, a directory, no permission, a pipe without a writer), or if it is longer than
/// `max_bytes`. Never reads more than `max_bytes`.
[[nodiscard]] std::string read_file(const std::string& path, std::size_t max_bytes = max_file_bytes);

}  // namespace ddl
