#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "cli/report/document.hpp"
#include "cli/report/formats/page.hpp"

namespace ddl {

/// Columns that a bar takes, and prose at least where it needs more.
inline constexpr std::size_t bar_width = 16, least_prose = 24;

/// Which columns of a table are shown, and how wide.
struct TableLayout {
  struct Shown {
    std::size_t column = 0, width = 0;
  };
  std::vector<Shown> columns{};         ///< from left to right
  std::vector<std::string> left_out{};  ///< headings of the others, from left to right
  bool cuts = false;                    ///< cells of words are longer than their column
};

/// Fits a table to a page. Columns are given up from the right: first those that are merely useful, then those that are
/// essential, but never the leftmost of these. Before an essential column is given up, long words are cut. A wide page has
/// all columns.
[[nodiscard]] TableLayout layout_of(const Table& table, const Page& page);

}  // namespace ddl
