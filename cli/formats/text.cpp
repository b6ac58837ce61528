#include "cli/formats/text.hpp"

#include <algorithm>

#include "cli/documents/figures.hpp"
#include "cli/formats/format.hpp"
#include "core/source_text.hpp"

namespace ddl {
namespace {

constexpr std::size_t page_width = 118;

/// Appends the blocks of a document, one after the other.
class TextWriter {
 public:
  explicit TextWriter(const Style& style) : style_(style) {}

  void operator()(const Section& section) {
    if (!out_.empty()) out_ += '\n';
    if (!section.heading.empty()) out_ += style_.bold(section.heading) + section.aside + '\n';
  }

  void operator()(const Line& line) {
    out_.append(line.indent, ' ');
    for (const Span& span : line.spans) {
      const bool breaks = line.hanging && &span == &line.spans.back();
      const std::string shown = visible_lines(span.text);
      const std::string text = breaks ? wrap_text(shown, page_width - line.indent, std::string(*line.hanging, ' ')) : shown;
      out_ += span.strong ? style_.bold(text) : text;
    }
    out_ += '\n';
  }

  void operator()(const Table& written) {
    Table table = written;
    for (auto& row : table.rows) {
      for (std::string& cell : row) cell = visible(cell);
    }
    std::vector<std::string> headings;
    std::vector<std::size_t> widths;
    for (std::size_t c = 0; c < table.columns.size(); ++c) {
      headings.push_back(table.columns[c].heading);
      std::size_t width = display_width(headings.back());
      for (const auto& row : table.rows) width = std::max(width, display_width(row[c]));
      widths.push_back(width);
    }
    add_row(table, headings, widths);
    for (const auto& row : table.rows) add_row(table, row, widths);
    const std::string indent(table.indent, ' ');
    if (!table.legend.empty()) out_ += style_.faint(indent + table.legend) + '\n';
    if (!table.left_out.empty()) out_ += style_.faint(indent + table.left_out + '\n');
  }

  void operator()(const Verbatim& verbatim) { out_ += visible_lines(verbatim.text); }

  void operator()(const Chart& /*chart*/) {}

  [[nodiscard]] std::string text() { return std::move(out_); }

 private:
  void add_row(const Table& table, const std::vector<std::string>& cells, const std::vector<std::size_t>& widths) {
    std::string built(table.indent, ' ');
    for (std::size_t c = 0; c < cells.size(); ++c) {
      const std::string padding(widths[c] - display_width(cells[c]), ' ');
      if (c > 0) built += "  ";
      built += table.columns[c].has_figures ? padding + cells[c] : cells[c] + padding;
    }
    built.erase(built.find_last_not_of(' ') + 1);
    out_ += built + '\n';
  }

  const Style& style_;
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
    const std::size_t space = text.find(' ');
    const std::string_view word = text.substr(0, space);
    text.remove_prefix(space == std::string_view::npos ? text.size() : space + 1);
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
