#include <algorithm>
#include <cctype>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "cli/report/formats/format.hpp"
#include "core/source_text.hpp"
#include "core/version.hpp"
#include "core/words.hpp"

namespace ddl {
namespace {

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; }

/// Escapes plain text on one line. An underscore inside a word is not escaped, because it is not emphasis [GitHub Flavored
/// Markdown, section 6.4]. Characters that start a list, a heading or a quotation are escaped only at the start of a line.
std::string markdown_text(std::string_view raw, bool begins_line) {
  constexpr std::string_view special = "\\`*[]<>|~&$";
  const std::string text = visible(raw);
  std::string out;
  std::size_t digits = 0;
  while (begins_line && digits < text.size() && std::isdigit(static_cast<unsigned char>(text[digits])) != 0) ++digits;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const bool inside = i > 0 && i + 1 < text.size() && is_word(text[i - 1]) && is_word(text[i + 1]);
    const bool marks_line = begins_line && i == 0 && std::string_view("#-+=").find(c) != std::string_view::npos;
    const bool counts = digits > 0 && i == digits && (c == '.' || c == ')');
    if (special.find(c) != std::string_view::npos || (c == '_' && !inside) || marks_line || counts) out += '\\';
    out += c;
  }
  return out;
}

/// Returns a code fence that is longer than any run of backticks in the text.
std::string fence_of(std::string_view text) {
  std::size_t longest = 2, run = 0;
  for (const char c : text) {
    run = c == '`' ? run + 1 : 0;
    longest = std::max(longest, run);
  }
  return std::string(longest + 1, '`');
}

/// Converts the blocks of a document to Markdown, one after the other.
class MarkdownWriter {
 public:
  void operator()(const Section& section) {
    in_list_ = false;
    if (section.heading.empty()) return;
    begin_block();
    out_ += "## " + markdown_text(section.heading + section.aside, true) + '\n';
  }

  /// Converts a line. An indented line becomes a list item.
  void operator()(const Line& line) {
    const bool is_item = line.indent > 0;
    if (!is_item || !in_list_) begin_block();
    in_list_ = is_item;
    if (is_item) out_ += "- ";
    bool begins = true;
    for (const Span& span : line.spans) {
      const std::string text(trimmed(span.text));
      if (text.empty()) continue;
      // Spaces stay outside of the emphasis, because emphasis must begin and end at a letter.
      const std::size_t before = span.text.find_first_not_of(' ');
      const std::size_t behind = span.text.size() - 1 - span.text.find_last_not_of(' ');
      const std::string written = markdown_text(text, begins);
      out_ += std::string(begins ? 0 : before, ' ') + (span.strong ? "**" + written + "**" : written) +
              std::string(behind > 0 ? 1 : 0, ' ');
      begins = false;
    }
    while (out_.ends_with(' ')) out_.pop_back();
    out_ += '\n';
  }

  void operator()(const Table& table) {
    begin_block();
    in_list_ = false;
    out_ += '|';
    for (const Column& column : table.columns) out_ += ' ' + markdown_text(column.heading, false) + " |";
    out_ += "\n|";
    for (const Column& column : table.columns) out_ += column.has_figures ? " ---: |" : " --- |";
    out_ += '\n';
    for (const auto& row : table.rows) {
      out_ += '|';
      for (const std::string& cell : row) out_ += ' ' + markdown_text(trimmed(cell), false) + " |";
      out_ += '\n';
    }
    for (const std::string& below : {table.legend, table.left_out}) {
      if (!below.empty()) out_ += '\n' + markdown_text(trimmed(below), true) + '\n';
    }
  }

  void operator()(const Verbatim& verbatim) {
    begin_block();
    in_list_ = false;
    const std::string text = visible_lines(verbatim.text), fence = fence_of(text);
    out_ += fence + '\n' + text + (text.ends_with('\n') ? "" : "\n") + fence + '\n';
  }

  void operator()(const Chart& /*chart*/) {}

  [[nodiscard]] std::string text() { return std::move(out_); }

 private:
  void begin_block() {
    if (!out_.empty()) out_ += '\n';
  }

  bool in_list_ = false;
  std::string out_;
};

}  // namespace

/// Prints a report as GitHub Flavored Markdown. Headings have the second level, so that the report can be part of a page.
std::string markdown_format(const Report& report, const Style& /*style*/) {
  MarkdownWriter writer;
  for (const Block& block : report.document.blocks) std::visit(writer, block);
  for (const Block& block : errors_document(report).blocks) std::visit(writer, block);
  if (!report.command.empty()) {
    writer(Section{"How to reproduce this answer", ""});
    writer(Verbatim{report.command});
    writer(Line{{{fmt::format("ddl-oracle {}, commit {}", version(), commit())}}});
  }
  return writer.text();
}

}  // namespace ddl
