#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "cli/report/document.hpp"
#include "cli/report/formats/page.hpp"

namespace ddl {

/// The width of a drawn bar, and the minimum width of a prose column, in characters.
inline constexpr std::size_t bar_width = 16, least_prose = 24;

/// The visible columns of a table, and their widths.
struct TableLayout {
  struct Shown {
    std::size_t column = 0, width = 0;
  };
  std::vector<Shown> columns{};         ///< from left to right
  std::vector<std::string> left_out{};  ///< headings of dropped columns, from left to right
  bool cuts = false;                    ///< whether some text cells are longer than their column, and are cut
};

/// Fits a table to a page by dropping columns. Columns marked `useful` are dropped first, from the right; then columns
/// marked `always`, from the right. Before a column marked `always` is dropped, long words are cut. The leftmost column
/// marked `always` is never dropped. On a wide page, no column is dropped.
[[nodiscard]] TableLayout layout_of(const Table& table, const Page& page);

}  // namespace ddl
