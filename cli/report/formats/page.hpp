#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace ddl {

inline constexpr std::size_t most_page_width = 10'000;

/// The room that text has, and the signs that it may use.
struct Page {
  std::size_t width = usual_width;
  bool wide = false;   ///< tables have all columns, however wide they get
  bool ascii = false;  ///< no sign but those of ASCII

  static constexpr std::size_t usual_width = 100, least_width = 20;
};

/// The page of the standard output: as wide as the terminal, else as COLUMNS says, else of the usual width; in ASCII where
/// the locale (LC_ALL, LC_CTYPE or LANG) has no other signs. `to_file`: the page of a file, which is UTF-8 and knows of no
/// terminal.
[[nodiscard]] Page page_of_output(bool to_file);

/// The text in ASCII: what the reports print has a likeness there, and all else is escaped, as \u00E9.
[[nodiscard]] std::string ascii_of(std::string_view text);

}  // namespace ddl
