#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace ddl {

inline constexpr std::size_t most_page_width = 10'000;

/// The width available for text, and the character set.
struct Page {
  std::size_t width = usual_width;
  bool wide = false;   ///< tables have all columns, whatever their width
  bool ascii = false;  ///< ASCII characters only

  static constexpr std::size_t usual_width = 100, least_width = 20;
};

/// The page of the standard output: as wide as the terminal, else by COLUMNS, else the default; in ASCII if the locale
/// (LC_ALL, LC_CTYPE or LANG) has no other characters. `to_file`: the page of a file, which is UTF-8 and independent of any
/// terminal.
[[nodiscard]] Page page_of_output(bool to_file);

/// The text in ASCII: characters used by reports have replacements, everything else is escaped, such as \u00E9.
[[nodiscard]] std::string ascii_of(std::string_view text);

}  // namespace ddl
