#include "cli/report/formats/html.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cli/report/formats/format.hpp"
#include "cli/report/formats/html_chart.hpp"
#include "cli/report/formats/html_drawing.hpp"
#include "core/find.hpp"
#include "core/version.hpp"

namespace ddl {
namespace {

/// The text of each verdict, and the verdict's CSS class.
constexpr std::array<std::pair<std::string_view, std::string_view>, 3> verdict_classes{
    {{"DOES-NOT-FIT", "bad"}, {"AT-RISK", "risk"}, {"FITS", "fits"}}};

/// Highlights a verdict in a text. A verdict is found at the start, at the end, or after a colon.
std::string with_verdict(std::string_view text) {
  for (const auto& [verdict, name] : verdict_classes) {
    const std::size_t at = text.rfind(verdict);
    if (at == std::string_view::npos) continue;
    const std::size_t end = at + verdict.size();
    const bool begins = at == 0 || text[at - 1] == ' ';
    const bool ends = end == text.size() || text[end] == ',' || text[end] == ' ';
    if (!begins || !ends) continue;
    return fmt::format("{}<span class=\"verdict {}\">{}</span>{}", html_text(text.substr(0, at)), name, verdict,
                       html_text(text.substr(end)));
  }
  return html_text(text);
}

/// Returns a name as HTML that narrow screens may break after a separator: `layer0.<wbr>attention1`, `h100:<wbr>256`.
std::string breakable(std::string_view text) {
  static constexpr std::string_view signs = "._:+/";
  const std::string written = html_text(text);
  std::string out;
  for (std::size_t i = 0; i < written.size(); ++i) {
    out += written[i];
    const bool is_last = i + 1 == written.size() || written[i + 1] == ' ';
    const bool is_dot = out.ends_with("·");  // between the degrees of a plan
    const bool is_sign = signs.find(written[i]) != std::string_view::npos && i > 0 && written[i - 1] != ' ';
    const bool is_decimal = is_sign && written[i] == '.' && written[i - 1] >= '0' && written[i - 1] <= '9' && !is_last &&
                            written[i + 1] >= '0' && written[i + 1] <= '9';
    if (!is_last && !is_decimal && (is_dot || is_sign)) out += "<wbr>";
  }
  return out;
}

/// Number of columns that a table has before the reader asks for all columns.
constexpr std::size_t usual_columns = 8;
/// The longest text of a column whose cells never wrap.
constexpr std::size_t longest_in_one_line = 48;
/// Number of rows that a table shows before the reader unfolds it. A table with bars ranks or compares what the user asked
/// for, and is never folded.
constexpr std::size_t most_open_rows = 60;

/// Converts the blocks of a document to HTML, one after the other. `prefix`: the start of all ids.
class HtmlWriter {
 public:
  explicit HtmlWriter(std::string_view prefix) : prefix_(prefix) {}

  void operator()(const Section& section) {
    end_list();
    if (section.heading.empty()) return;
    end_section();
    heading_ = section.heading;
    const std::string id = fmt::format("{}s{}", prefix_, ++sections_);
    in_section_ = true;
    contents_ += fmt::format("<li><a href=\"#{}\">{}</a></li>\n", id, html_text(section.heading));
    out_ += fmt::format(
        "<section id=\"{0}\" aria-labelledby=\"{0}h\">\n<details{1}><summary><h2 id=\"{0}h\">{2}<small>{3}</small></h2>"
        "</summary>\n",
        id, section.is_folded ? "" : " open", html_text(section.heading), html_text(section.aside));
  }

  void operator()(const Line& line) {
    // A line that starts with emphasized words is an answer.
    const bool is_answer = line.indent == 0 && !line.spans.empty() && line.spans.front().strong;
    const bool is_item = line.indent > 0;
    if (!is_item) end_list();
    if (is_item && !in_list_) out_ += "<ul>\n";
    in_list_ = is_item;
    std::string text;
    for (const Span& span : line.spans)
      text += span.strong ? "<b>" + with_verdict(span.text) + "</b>"
              : is_answer ? with_verdict(span.text)
                          : html_text(span.text);
    out_ += is_item     ? "<li>" + text + "</li>\n"
            : is_answer ? "<p class=\"answer\">" + text + "</p>\n"
                        : "<p>" + text + "</p>\n";
  }

  void operator()(const Table& table) {
    end_list();
    const std::string name = heading_.empty() ? "figures" : heading_;
    const std::vector<std::string_view> classes = classes_of_columns(table);
    ++tables_;
    const bool is_long = table.rows.size() > most_open_rows && !table.bars;
    if (is_long) out_ += fmt::format("<details class=\"long\"><summary>all {} rows</summary>\n", table.rows.size());
    add_toggle(table, classes);
    const std::vector<bool> wraps = wrapping_columns(table);
    out_ += fmt::format("<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{}\">\n<table>\n<thead><tr>",
                        html_text(fmt::format("{}, table {}", name, tables_)));
    for (std::size_t c = 0; c < table.columns.size(); ++c) {
      const Column& column = table.columns[c];
      out_ += fmt::format("<th scope=\"col\" class=\"{}{}\">{}</th>", column.has_figures ? "f" : "n", classes[c],
                          breakable(column.heading));
    }
    out_ += "</tr></thead>\n<tbody>\n";
    for (std::size_t r = 0; r < table.rows.size(); ++r) {
      const auto& row = table.rows[r];
      out_ += "<tr>";
      for (std::size_t c = 0; c < row.size(); ++c) {
        const bool is_bar = table.bars && table.bars->column == c;
        out_ += fmt::format("<td class=\"{}{}\">{}</td>", class_of_cell(table.columns[c], wraps[c], row[c]), classes[c],
                            is_bar ? drawn_shares(*table.bars, r, row[c]) : cell(table.columns[c], row[c]));
      }
      out_ += "</tr>\n";
    }
    out_ += is_long ? "</tbody>\n</table></div></details>\n" : "</tbody>\n</table></div>\n";
    if (table.bars && classes[table.bars->column] != " more")
      out_ += legend_of_shares(*table.bars, classes[table.bars->column]);
    for (const std::string& below : {table.legend, table.left_out}) {
      if (!below.empty()) out_ += "<p class=\"note\">" + html_text(below) + "</p>\n";
    }
  }

  void operator()(const Verbatim& verbatim) {
    end_list();
    out_ += "<pre class=\"drawn\">" + lines(verbatim.text) + "</pre>\n";
  }

  void operator()(const Chart& chart) {
    end_list();
    out_ += html_chart(chart, fmt::format("{}c{}", prefix_, ++charts_));
  }

  void reproduce(const std::string& command, std::string_view note) {
    (*this)(Section{"How to reproduce this answer", ""});
    out_ += "<pre>" + lines(command) + "</pre>\n";
    out_ += fmt::format("<p class=\"note\">ddl-oracle {}, commit {}.{}{}</p>\n", html_text(version()), html_text(commit()),
                        note.empty() ? "" : " ", html_text(note));
  }

  [[nodiscard]] std::string take() && {
    end_list();
    end_section();
    return std::move(out_);
  }

  /// Returns links to all sections; empty if there are only a few.
  [[nodiscard]] std::string contents() const {
    constexpr int fewest = 3;
    if (sections_ < fewest) return {};
    return "<nav class=\"contents\" aria-label=\"Contents\"><ul>\n<li><a href=\"#top\">Answer</a></li>\n" + contents_ +
           "</ul></nav>\n";
  }

 private:
  /// Returns the CSS class of each column: ` more` if the column is only shown on request, ` wide` if only wide screens show
  /// the column.
  [[nodiscard]] static std::vector<std::string_view> classes_of_columns(const Table& table) {
    std::vector<std::string_view> classes(table.columns.size());
    const auto is_essential = [](const Column& column) { return column.keep == Keep::always; };
    const auto essential = static_cast<std::size_t>(std::ranges::count_if(table.columns, is_essential));
    if (essential == 0) return classes;
    std::size_t shown = essential;
    for (std::size_t c = 0; c < table.columns.size(); ++c) {
      const Keep keep = table.columns[c].keep;
      if (keep == Keep::always) continue;
      const bool is_usual = keep == Keep::useful && shown < usual_columns;
      if (is_usual) ++shown;
      classes[c] = is_usual ? " wide" : " more";
    }
    if (table.columns.size() <= usual_columns / 2) std::fill(classes.begin(), classes.end(), std::string_view());
    return classes;
  }

  /// Adds the switch that shows all columns. It works without a script, because it stands directly before the table.
  void add_toggle(const Table& table, const std::vector<std::string_view>& classes) {
    const bool has_more = contains(classes, " more");
    const bool has_wide = contains(classes, " wide");
    if (!has_more && !has_wide) return;
    out_ += fmt::format(
        "<input type=\"checkbox\" class=\"toggle{0}\" id=\"{1}t{2}\"><label class=\"toggle{0}\" for=\"{1}t{2}\">all {3} "
        "columns</label>\n",
        has_more ? "" : " phone", prefix_, tables_, table.columns.size());
  }

  /// Whether the texts of each column wrap. Columns of short texts do not, so that rows do not become high.
  [[nodiscard]] static std::vector<bool> wrapping_columns(const Table& table) {
    std::vector<bool> wraps(table.columns.size());
    for (const std::vector<std::string>& row : table.rows) {
      for (std::size_t c = 0; c < row.size(); ++c) {
        if (!table.columns[c].has_figures && row[c].size() > longest_in_one_line) wraps[c] = true;
      }
    }
    return wraps;
  }

  /// Returns the CSS class of a cell. Narrow screens break figures with several parts.
  [[nodiscard]] static std::string_view class_of_cell(const Column& column, bool wraps, std::string_view text) {
    constexpr std::size_t longest_figure = 12;
    if (column.has_figures) return text.size() > longest_figure ? "f l" : "f";
    return wraps ? "w" : "n";
  }

  [[nodiscard]] static std::string cell(const Column& column, const std::string& text) {
    const auto* const known = std::ranges::find_if(verdict_classes, [&](const auto& each) { return each.first == text; });
    if (known != verdict_classes.end()) return with_verdict(text);
    return column.has_figures ? html_text(text) : breakable(text);
  }

  /// Returns the CSS class with the color of a bar's piece.
  [[nodiscard]] static std::string_view class_of_piece(const Bars& bars, std::size_t piece) {
    constexpr std::array<Tone, 3> tones{Tone::blue, Tone::orange, Tone::purple};
    return class_of(piece + 1 == bars.pieces.size() ? bars.last : tones[std::min(piece, tones.size() - 1)]);
  }

  /// Returns the bar of one row as SVG, with `words` as the text alternative.
  [[nodiscard]] std::string drawn_shares(const Bars& bars, std::size_t row, const std::string& words) {
    const std::string id = fmt::format("{}b{}", prefix_, ++bars_);
    std::string out = fmt::format(
        "<svg class=\"share\" role=\"img\" aria-labelledby=\"{0}\" width=\"96\" height=\"12\" viewBox=\"0 0 100 12\" "
        "preserveAspectRatio=\"none\"><title id=\"{0}\">{1}</title>",
        id, html_text(words));
    double from = 0;
    for (std::size_t i = 0; i < bars.shares[row].size(); ++i) {
      const double width = std::clamp(bars.shares[row][i] * 100, 0.0, 100 - from);
      out += fmt::format("<rect class=\"{}\" x=\"{:.2f}\" width=\"{:.2f}\" height=\"12\"/>", class_of_piece(bars, i), from,
                         width);
      from += width;
    }
    return out + "</svg>";
  }

  /// `shown`: the CSS class of the column, which determines whether a narrow screen shows the bars.
  [[nodiscard]] static std::string legend_of_shares(const Bars& bars, std::string_view shown) {
    std::string out = fmt::format("<ul class=\"legend{}\">", shown);
    for (std::size_t i = 0; i < bars.pieces.size(); ++i) {
      out += fmt::format(
          "<li><svg class=\"swatch\" width=\"12\" height=\"12\" aria-hidden=\"true\"><rect class=\"{}\" width=\"12\" "
          "height=\"12\"/></svg> {}</li>",
          class_of_piece(bars, i), html_text(bars.pieces[i]));
    }
    return out + "</ul>\n";
  }

  [[nodiscard]] static std::string lines(std::string_view text) {
    std::string out;
    while (!text.empty()) {
      const std::size_t end = std::min(text.find('\n'), text.size());
      out += html_text(text.substr(0, end)) + (end < text.size() ? "\n" : "");
      text.remove_prefix(std::min(end + 1, text.size()));
    }
    return out;
  }

  void end_list() {
    if (in_list_) out_ += "</ul>\n";
    in_list_ = false;
  }
  void end_section() {
    if (in_section_) out_ += "</details></section>\n";
    in_section_ = false;
  }

  bool in_list_ = false, in_section_ = false;
  int sections_ = 0, tables_ = 0, charts_ = 0, bars_ = 0;
  std::string prefix_, heading_, contents_, out_;
};

/// Returns the command without its options, such as `ddl-oracle recommend`.
std::string command_name(std::string_view command) {
  const std::size_t first = command.find(' ');
  if (first == std::string_view::npos) return "ddl-oracle";
  return std::string(command.substr(0, command.find(' ', first + 1)));
}

std::string title_of(const Document& document) {
  for (const Block& block : document.blocks) {
    const auto* const line = std::get_if<Line>(&block);
    if (line == nullptr || line->spans.empty()) continue;
    std::string title;
    for (const Span& span : line->spans) title += span.text;
    return title;
  }
  return "ddl-oracle";
}

}  // namespace

HtmlContent html_content(const Report& report, std::string_view note) {
  Document document = report.page ? report.page() : report.document;
  document.append(errors_document(report));
  HtmlWriter writer("");
  for (const Block& block : document.blocks) std::visit(writer, block);
  if (!report.command.empty()) writer.reproduce(report.command, note);
  const std::string contents = writer.contents();
  return {title_of(document),
          fmt::format("{}<div class=\"report\" id=\"top\">\n{}</div>\n", contents, std::move(writer).take())};
}

HtmlContent html_first_screen(const Report& report, std::string_view prefix) {
  const Document document = report.page ? report.page() : report.document;
  HtmlWriter writer(prefix);
  for (const Block& block : document.blocks) {
    const auto* const section = std::get_if<Section>(&block);
    if (section != nullptr && !section->heading.empty()) break;
    std::visit(writer, block);
  }
  return {title_of(document), std::move(writer).take()};
}

/// Prints a report as a self-contained HTML file. A policy in the file forbids loading other files.
std::string html_format(const Report& report, const Style& /*style*/) {
  const HtmlContent content = html_content(report, "This page loads no other files.");
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; "
      "script-src 'unsafe-inline'\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>{}</title>\n<style>{}</style>\n"
      "</head>\n<body>\n<header><h1>{}</h1></header>\n<main>\n{}</main>\n<script>{}</script>\n</body>\n</html>\n",
      html_text(content.title), html_style, html_text(command_name(report.command)), content.main, html_script);
}

}  // namespace ddl
