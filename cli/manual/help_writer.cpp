#include "cli/manual/help_writer.hpp"

#include <fmt/format.h>

#include "cli/report/figures.hpp"
#include "cli/report/formats/text.hpp"

namespace ddl {
namespace {

constexpr std::size_t name_columns = 30;
constexpr std::size_t example_indent = 6;

/// Returns the first clause of a text. A clause longer than `width` columns is cut at a suitable place.
std::string brief_text_of(std::string_view text, std::size_t width) {
  text = first_clause(text);
  if (display_width(text) <= width) return std::string(text);
  for (const std::string_view stop : {": ", " ("}) {
    for (std::size_t at = text.rfind(stop); at != std::string_view::npos && at > 0; at = text.rfind(stop, at - 1)) {
      if (display_width(text.substr(0, at)) <= width) return std::string(text.substr(0, at));
    }
  }
  std::string_view cut = text;
  while (display_width(cut) + 1 > width && cut.rfind(' ') != std::string_view::npos) cut = cut.substr(0, cut.rfind(' '));
  return std::string(cut) + "…";
}

/// Breaks a text into lines of at most `room` columns. All lines after the first begin with `indent`.
std::string wrap(std::string_view text, std::size_t room, const std::string& indent) {
  std::string out = wrap_text(text, room, "");
  for (std::size_t at = 0; (at = out.find('\n', at)) != std::string::npos; at += 1 + indent.size())
    out.insert(at + 1, indent);
  return out;
}

}  // namespace

void HelpWriter::row(const std::string& name, std::string_view text) {
  std::string line = "  " + name;
  const std::size_t used = display_width(line);
  const bool fits = used + 2 <= name_columns;
  const std::size_t room = width_ > name_columns + 20 ? width_ - name_columns : 20;
  const std::string indent(name_columns, ' ');
  line += fits ? std::string(name_columns - used, ' ') : "\n" + indent;
  out_ += line + (form_ == HelpForm::brief ? brief_text_of(text, room) : wrap(text, room, indent)) + '\n';
}

void HelpWriter::paragraph(const std::string& text) { out_ += wrap(text, width_, "") + '\n'; }

void HelpWriter::example(const Example& example) {
  out_ += fmt::format("  {}\n", example.command);
  const std::string indent(example_indent, ' ');
  out_ += indent + wrap(example.purpose, width_ - example_indent, indent) + '\n';
}

}  // namespace ddl
