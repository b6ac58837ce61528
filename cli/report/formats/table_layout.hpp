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

/// Divides `width` into whole columns in proportion to the shares. The columns add up to the rounded sum of the shares.
[[nodiscard]] std::vector<std::size_t> bar_lengths(const std::vector<double>& shares, std::size_t width);
/// Whether the drawn bars of two rows differ by more than one character, in the length of any piece. Otherwise a `useful`
/// column of bars is only shown if all columns are requested. The bar of a single row is always shown.
[[nodiscard]] bool bars_differ(const Bars& bars);

/// Fits a table to a page by dropping columns. Columns marked `useful` are dropped first, from the right; then columns
/// marked `always`, from the right. Before a column marked `always` is dropped, long words are cut. The leftmost column
/// marked `always` is never dropped. On a wide page, no column is dropped.
[[nodiscard]] TableLayout layout_of(const Table& table, const Page& page);

}  // namespace ddl
