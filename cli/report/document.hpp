#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "cli/report/chart.hpp"

namespace ddl {

/// Starts a part of a document. `aside` follows the heading on the same line, and begins with a space or comma. A part
/// without a heading is only separated from the previous part by a blank line.
struct Section {
  std::string heading{}, aside{};
  bool is_folded = false;  ///< whether a page shows only the heading, until the reader opens the section
};

/// A piece of a line. A piece with `strong` is emphasized.
struct Span {
  std::string text;
  bool strong = false;
};

/// A line that begins `indent` columns from the margin. A line that is wider than the page continues in further lines, which
/// begin `hanging` columns from the margin, by default `indent` + 2.
struct Line {
  std::vector<Span> spans;
  std::size_t indent = 0;
  std::optional<std::size_t> hanging{};
};

/// What happens to a column if the page is too narrow for all columns.
enum class Keep {
  always,  ///< dropped last, because it answers the question
  useful,  ///< dropped first, starting from the right
  asked    ///< only shown if all columns are requested (`--wide`)
};

/// A column of a table. Text is left-aligned, numbers are right-aligned. Prose may wrap within its cell.
struct Column {
  std::string heading;
  bool has_figures = false;
  Keep keep = Keep::useful;
  bool wraps = false;
};
[[nodiscard]] inline Column words(std::string heading) { return {std::move(heading), false}; }
[[nodiscard]] inline Column figures(std::string heading) { return {std::move(heading), true}; }
[[nodiscard]] inline Column prose(std::string heading) { return {std::move(heading), false, Keep::useful, true}; }
[[nodiscard]] inline Column essential(Column column) {
  column.keep = Keep::always;
  return column;
}
[[nodiscard]] inline Column if_asked(Column column) {
  column.keep = Keep::asked;
  return column;
}

/// Bars that are drawn in one column of a table, one bar per row. Each piece of a bar is a share of the bar's length. The
/// cells of this column contain the same shares as text, for formats that do not draw.
struct Bars {
  std::size_t column = 0;
  std::vector<std::string> pieces{};          ///< names of the shares, in their order
  std::vector<std::vector<double>> shares{};  ///< shares of each row: not negative, with a sum of at most 1
  Tone last = Tone::grey;                     ///< the color of the last piece
};

/// A table of text cells, which include their units. `legend` explains symbols in the cells;
/// `left_out` describes rows that are not shown.
struct Table {
  explicit Table(std::vector<Column> all_columns, std::size_t all_indent = 2)
      : columns(std::move(all_columns)), indent(all_indent) {}
  void add(std::vector<std::string> cells) { rows.push_back(std::move(cells)); }
  [[nodiscard]] bool empty() const { return rows.empty(); }

  std::vector<Column> columns;
  std::vector<std::vector<std::string>> rows{};
  std::size_t indent = 2;
  std::string legend{}, left_out{};
  std::optional<Bars> bars{};
};

/// Preformatted lines, such as a text drawing or the content of a file.
struct Verbatim {
  std::string text;
};

using Block = std::variant<Section, Line, Table, Verbatim, Chart>;

/// The output of a command as parts for a reader, independent of the output format.
struct Document {
  std::vector<Block> blocks{};

  void add(Block block) { blocks.push_back(std::move(block)); }
  void section(std::string heading = {}, std::string aside = {}) { add(Section{std::move(heading), std::move(aside)}); }
  /// Starts a section that a page folds, because few readers need it.
  void folded_section(std::string heading, std::string aside = {}) {
    add(Section{std::move(heading), std::move(aside), true});
  }
  /// Adds a block as a paragraph, separated from the previous block.
  void apart(Block block) {
    section();
    add(std::move(block));
  }
  void line(std::string text, std::size_t indent = 0) { add(Line{{{std::move(text)}}, indent}); }
  /// Adds a line that starts with emphasized words.
  void line(std::string strong, std::string text) { add(Line{{{std::move(strong), true}, {std::move(text)}}}); }
  void paragraph(std::string text, std::size_t indent = 2, std::size_t hanging = 4) {
    add(Line{{{std::move(text)}}, indent, hanging});
  }
  void append(Document other) {
    for (Block& block : other.blocks) add(std::move(block));
  }
};

}  // namespace ddl
