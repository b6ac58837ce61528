#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace ddl {

/// A YAML text whose long list items of numbers are cut after the first number. The parser looks for the end of a plain text
/// at each character, which takes most of the time of reading a file of kernel models.
struct ShortenedText {
  /// A list item that was cut.
  struct Cut {
    std::size_t begin = 0, end = 0;  ///< the whole item in the original text
    std::size_t cut = 0;             ///< where the rest of the item is missing in the shortened text
    std::size_t removed = 0;         ///< number of bytes that are missing up to here
  };
  std::string text;
  std::vector<Cut> cuts;  ///< in ascending order

  /// Returns the position in the original text that belongs to a position in the shortened text.
  [[nodiscard]] std::size_t original(std::size_t at) const;
};

/// Cuts the lines `- 1 2.5 -3; 4 5 6; …` of a text that have more than a hundred characters. The cut lines may be parts of
/// quoted text, in which case the caller has to parse the original text.
[[nodiscard]] ShortenedText shorten_number_rows(std::string_view text);

}  // namespace ddl
