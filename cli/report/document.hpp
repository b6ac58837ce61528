#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "cli/report/chart.hpp"

namespace ddl {

/// Begins a part of a document. `aside` goes on behind the heading in the same line, with its own blank or comma before it.
/// A part without a heading is only set apart from the one before.
struct Section {
  std::string heading{}, aside{};
};

/// A piece of a line; a strong one stands out.
struct Span {
  std::string text;
  bool strong = false;
};

/// A line, `indent` columns from the margin. Where it is longer than a page is wide it goes on in further lines, which have
/// the indent `hanging`; two columns more than its own, where nothing is said.
struct Line {
  std::vector<Span> spans;
  std::size_t indent = 0;
  std::optional<std::size_t> hanging{};
};

/// What a format with too little room does with a column.
enum class Keep {
  always,  ///< is given up last: it answers the question
  useful,  ///< is given up first, the rightmost column before the others
  asked    ///< is there only where all columns are asked for (`--wide`)
};

/// A column of a table. Words are set to the left, figures to the right. Prose may go on in further lines of its cell.
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

/// A column that is drawn: in each row a bar whose pieces are shares of its length. The cells of the column say the same in
/// words, for formats that do not draw.
struct Bars {
  std::size_t column = 0;
  std::vector<std::string> pieces{};          ///< names, in the order of the shares
  std::vector<std::vector<double>> shares{};  ///< of each row: from 0, at most 1 together
};

/// Cells say their units. `legend` explains signs in the cells; `left_out` says which rows are not shown.
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

/// Lines that stay as they are: a drawing, or a file.
struct Verbatim {
  std::string text;
};

using Block = std::variant<Section, Line, Table, Verbatim, Chart>;

/// What a command has to say to a reader, whatever it is written as.
struct Document {
  std::vector<Block> blocks{};

  void add(Block block) { blocks.push_back(std::move(block)); }
  void section(std::string heading = {}, std::string aside = {}) { add(Section{std::move(heading), std::move(aside)}); }
  /// Set apart from what stands before it.
  void apart(Block block) {
    section();
    add(std::move(block));
  }
  void line(std::string text, std::size_t indent = 0) { add(Line{{{std::move(text)}}, indent}); }
  /// A line that begins with strong words.
  void line(std::string strong, std::string text) { add(Line{{{std::move(strong), true}, {std::move(text)}}}); }
  void paragraph(std::string text, std::size_t indent = 2, std::size_t hanging = 4) {
    add(Line{{{std::move(text)}}, indent, hanging});
  }
  void append(Document other) {
    for (Block& block : other.blocks) add(std::move(block));
  }
};

}  // namespace ddl
