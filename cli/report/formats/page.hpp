#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace ddl {

inline constexpr std::size_t most_page_width = 10'000;

/// The properties of the page for which a text is formatted: its width and its character set.
struct Page {
  std::size_t width = usual_width;
  bool wide = false;   ///< whether tables have all columns, even if the page is too narrow
  bool ascii = false;  ///< whether only ASCII characters are used

  static constexpr std::size_t usual_width = 100, least_width = 20;
};

/// Returns the page of the standard output. The page is as wide as the terminal; without a terminal, COLUMNS or a default
/// gives the width. The page is ASCII if the locale (LC_ALL, LC_CTYPE or LANG) has no other characters. With `to_file`,
/// returns the page of a file, which is UTF-8 and independent of any terminal.
[[nodiscard]] Page page_of_output(bool to_file);

/// Returns the width that the variable COLUMNS gives; 0 if it gives none.
[[nodiscard]] std::size_t columns_said();

/// Converts a text to ASCII. Characters that reports use have replacements; all others are escaped, such as \u00E9.
[[nodiscard]] std::string ascii_of(std::string_view text);

}  // namespace ddl
