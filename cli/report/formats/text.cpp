#include "cli/report/formats/text.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/report/figures.hpp"
#include "cli/report/formats/format.hpp"
#include "cli/report/formats/table_layout.hpp"
#include "core/source_text.hpp"

namespace ddl {
namespace {

/// Characters for the pieces of a bar: the first character is for the first piece.
constexpr std::array<std::string_view, 3> bar_signs{"▇", "▒", "░"};

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// Whether `word` is a number and the next word is not a number. Such a pair, for example a number
/// and its unit, is kept on one line.
bool belongs_to_next(std::string_view word, std::string_view rest) {
  return !word.empty() && is_digit(word.front()) && word.find_first_not_of("0123456789.,") == std::string_view::npos &&
         !rest.empty() && rest.front() != ' ' && !is_digit(rest.front());
}

/// Returns the end of the word that starts at `at`: the next character in `breaks`, or the end of the text. A number and its
/// unit count as one word. A short interval counts as one word: `(3.4 to 5.2 s)`.
std::size_t end_of_word(std::string_view text, std::size_t at, std::string_view breaks) {
  constexpr std::size_t longest_interval = 32;
  const auto next = [&](std::size_t from) { return std::min(text.find_first_of(breaks, from), text.size()); };
  std::size_t end = next(at);
  if (at + 1 < text.size() && text[at] == '(' && is_digit(text[at + 1])) {
    const std::size_t close = text.find_first_of(")\n", at);
    if (close != std::string_view::npos && text[close] == ')' && close - at <= longest_interval) return next(close);
  }
  if (end < text.size() && text[end] == ' ' && belongs_to_next(text.substr(at, end - at), text.substr(end + 1)))
    end = next(end + 1);
  return end;
}

/// Returns the first `columns` columns of a text.
std::string_view first_columns(std::string_view text, std::size_t columns) {
  std::size_t at = 0;
  while (at < text.size() && display_width(text.substr(0, at + 1)) <= columns) ++at;
  while (at < text.size() && (static_cast<unsigned char>(text[at]) & 0xC0U) == 0x80U) ++at;
  return text.substr(0, at);
}

/// Cuts a cell that is longer than its column.
std::string cut_to(const std::string& text, std::size_t columns, bool ascii) {
  if (display_width(text) <= columns) return text;
  const std::string_view sign = ascii ? "..." : "…";
  const std::size_t signs = std::min(display_width(sign), columns);
  return std::string(first_columns(text, columns - signs)).append(first_columns(sign, signs));
}

/// Breaks a prose cell into lines of at most `width` columns. Words that are longer than a line are broken.
std::vector<std::string> lines_of(const std::string& text, std::size_t width) {
  std::vector<std::string> lines;
  std::string wrapped = wrap_text(text, width, "");
  for (std::size_t at = 0; at <= wrapped.size();) {
    const std::size_t end = std::min(wrapped.find('\n', at), wrapped.size());
    std::string_view line = std::string_view(wrapped).substr(at, end - at);
    while (display_width(line) > width) {
      const std::string_view part = first_columns(line, width);
      lines.emplace_back(part);
      line.remove_prefix(part.size());
    }
    lines.emplace_back(line);
    at = end + 1;
  }
  return lines;
}

/// Converts the blocks of a document to text, one after the other.
class TextWriter {
 public:
  explicit TextWriter(const Style& style) : style_(style), page_(style.page()) {}

  void operator()(const Section& section) {
    if (!out_.empty()) out_ += '\n';
    if (!section.heading.empty()) add_spans({{section.heading, true}, {section.aside}}, 0, 2);
  }

  void operator()(const Line& line) { add_spans(line.spans, line.indent, line.hanging.value_or(line.indent + 2)); }

  void operator()(const Table& written) {
    Table table = written;
    for (Column& column : table.columns) column.heading = shown(visible(column.heading));
    for (auto& row : table.rows) {
      for (std::string& cell : row) cell = shown(visible(cell));
    }
    const TableLayout layout = layout_of(table, page_);
    const auto row_of = [&](const auto& cell_of) {
      std::vector<std::vector<std::string>> cells;
      std::size_t lines = 1;
      for (const TableLayout::Shown& each : layout.columns) {
        const std::string cell = cell_of(each.column);
        cells.push_back(table.columns[each.column].wraps ? lines_of(cell, each.width)
                                                         : std::vector<std::string>{cut_to(cell, each.width, page_.ascii)});
        lines = std::max(lines, cells.back().size());
      }
      for (std::size_t i = 0; i < lines; ++i) add_row(table, layout, cells, i);
    };
    row_of([&](std::size_t c) { return table.columns[c].heading; });
    for (std::size_t r = 0; r < table.rows.size(); ++r) {
      row_of([&](std::size_t c) {
        return table.bars && table.bars->column == c ? bar_of(*table.bars, r, width_of(layout, c)) : table.rows[r][c];
      });
    }
    const bool drawn = table.bars && width_of(layout, table.bars->column) > 0;
    const std::string bars = drawn ? legend_of(*table.bars) : "";
    add_note(table, bars + (bars.empty() || table.legend.empty() ? "" : "; ") + table.legend);
    add_note(table, table.left_out);
    add_note(table, shown(not_shown(layout)));
  }

  void operator()(const Verbatim& verbatim) { out_ += shown(visible_lines(verbatim.text)); }

  void operator()(const Chart& /*chart*/) {}

  [[nodiscard]] std::string text() { return std::move(out_); }

 private:
  [[nodiscard]] std::string shown(const std::string& text) const { return page_.ascii ? ascii_of(text) : text; }

  /// Prints one line of a row. Prose cells may have several lines.
  void add_row(const Table& table, const TableLayout& layout, const std::vector<std::vector<std::string>>& cells,
               std::size_t line) {
    std::string built(std::min(table.indent, page_.width - 1), ' ');
    for (std::size_t i = 0; i < layout.columns.size(); ++i) {
      const std::string cell = line < cells[i].size() ? cells[i][line] : std::string();
      const std::string padding(layout.columns[i].width - std::min(layout.columns[i].width, display_width(cell)), ' ');
      if (i > 0) built += "  ";
      built += table.columns[layout.columns[i].column].has_figures ? padding + cell : cell + padding;
    }
    built.erase(built.find_last_not_of(' ') + 1);
    out_ += built + '\n';
  }

  static std::size_t width_of(const TableLayout& layout, std::size_t column) {
    for (const TableLayout::Shown& each : layout.columns) {
      if (each.column == column) return each.width;
    }
    return 0;
  }

  [[nodiscard]] std::string bar_of(const Bars& bars, std::size_t row, std::size_t width) const {
    std::string bar;
    const std::vector<std::size_t> lengths = bar_lengths(bars.shares[row], std::min(width, bar_width));
    for (std::size_t piece = 0; piece < lengths.size(); ++piece) {
      for (std::size_t i = 0; i < lengths[piece]; ++i) bar += bar_signs[piece % bar_signs.size()];
    }
    return shown(bar);
  }

  [[nodiscard]] std::string legend_of(const Bars& bars) const {
    std::string text;
    for (std::size_t i = 0; i < bars.pieces.size(); ++i)
      text += fmt::format("{}{} {}", i > 0 ? ", " : "", bar_signs[i % bar_signs.size()], bars.pieces[i]);
    return shown(text);
  }

  static std::string not_shown(const TableLayout& layout) {
    std::string text;
    if (!layout.left_out.empty()) {
      std::vector<std::string> names;
      // The heading of a column that is a term of a sum begins with `=` or `+`, which is dropped here.
      for (const std::string& heading : layout.left_out) {
        const bool is_part = heading.starts_with("= ") || heading.starts_with("+ ");
        names.push_back(heading.empty() ? "a column without a heading" : is_part ? heading.substr(2) : heading);
      }
      constexpr std::size_t most_names = 5;
      const std::size_t more = names.size() - std::min(names.size(), most_names);
      names.resize(names.size() - more);
      text = fmt::format("--wide also has: {}{}", fmt::join(names, ", "), more > 0 ? fmt::format(" and {} more", more) : "");
    }
    if (layout.cuts)
      text += fmt::format("{}text that ends in … is cut{}", text.empty() ? "" : "; ", text.empty() ? ": --wide" : "");
    return text;
  }

  void add_note(const Table& table, const std::string& text) {
    if (text.empty()) return;
    const std::size_t indent = std::min(table.indent, page_.width / 2);
    std::string note;
    for (const std::string& line : lines_of(shown(visible_lines(text)), page_.width - indent - 2))
      note += (note.empty() ? std::string(indent, ' ') : "\n" + std::string(indent + 2, ' ')) + line;
    out_ += style_.faint(note) + '\n';
  }

  /// Prints the words of several spans, and breaks lines between words.
  void add_spans(const std::vector<Span>& spans, std::size_t indent, std::size_t hanging) {
    std::vector<Span> line;
    std::size_t column = indent;
    bool begins = true;  // whether the current line is still empty
    const auto flush = [&] {
      for (const Span& each : line) out_ += each.strong ? style_.bold(each.text) : each.text;
      line.clear();
    };
    const auto put = [&](std::string_view text, bool strong) {
      if (text.empty()) return;
      if (line.empty() || line.back().strong != strong) line.push_back({"", strong});
      line.back().text += text;
      column += display_width(text);
    };
    out_.append(indent, ' ');
    // A word may consist of pieces from several spans. The space before a word belongs to the span in which the word begins.
    std::vector<Span> word;
    bool blank = false, blank_is_strong = false;
    const auto end_word = [&] {
      std::size_t length = 0;
      for (const Span& piece : word) length += display_width(piece.text);
      if (blank && !begins && column + 1 + length > page_.width) {
        flush();
        out_ += '\n' + std::string(hanging, ' ');
        column = hanging;
      } else if (blank) {
        put(" ", blank_is_strong);
      }
      for (const Span& piece : word) put(piece.text, piece.strong);
      begins = begins && word.empty();
      word.clear();
      blank = false;
    };
    for (const Span& span : spans) {
      const std::string text = shown(visible_lines(span.text));
      for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = end_of_word(text, at, " \n");
        if (end > at) word.push_back({text.substr(at, end - at), span.strong});
        if (end < text.size()) {
          end_word();
          if (text[end] == ' ') {
            blank = true;
            blank_is_strong = span.strong;
          } else {
            flush();
            out_ += '\n';
            column = 0;
            begins = true;
          }
        }
        at = end + 1;
      }
    }
    end_word();
    flush();
    out_ += '\n';
  }

  const Style& style_;
  const Page& page_;
  std::string out_;
};

}  // namespace

std::string text_of(const Document& document, const Style& style) {
  TextWriter writer(style);
  for (const Block& block : document.blocks) std::visit(writer, block);
  return writer.text();
}

std::string wrap_text(std::string_view text, std::size_t width, std::string_view indent) {
  std::string out;
  std::size_t column = 0;
  while (!text.empty()) {
    const std::size_t space = end_of_word(text, 0, " ");
    const std::string_view word = text.substr(0, space);
    text.remove_prefix(std::min(space + 1, text.size()));
    const std::size_t length = display_width(word);
    if (column > 0 && column + 1 + length > width) {
      out += '\n';
      out += indent;
      column = display_width(indent);
    } else if (column > 0) {
      out += ' ';
      ++column;
    }
    out += word;
    column += length;
  }
  return out;
}

std::string text_format(const Report& report, const Style& style) { return text_of(report.document, style); }

}  // namespace ddl
