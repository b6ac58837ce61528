#pragma once

#include <string>
#include <string_view>

#include "cli/report/document.hpp"
#include "cli/report/formats/page.hpp"

namespace ddl {

/// The style of a text: emphasis for terminals, plain text elsewhere. A Style also contains the
/// page for which the text is formatted.
class Style {
 public:
  explicit Style(bool colored, const Page& page = {}) : colored_(colored), page_(page) {}
  [[nodiscard]] std::string bold(std::string_view text) const { return wrap("1", text); }
  [[nodiscard]] std::string faint(std::string_view text) const { return wrap("2", text); }
  [[nodiscard]] const Page& page() const { return page_; }

 private:
  [[nodiscard]] std::string wrap(std::string_view code, std::string_view text) const {
    if (!colored_) return std::string(text);
    std::string out = "\033[";
    out.append(code).append("m").append(text).append("\033[0m");
    return out;
  }
  bool colored_;
  Page page_;
};

/// Prints a document as text. No line is wider than the page, except verbatim lines, and tables on
/// a wide page. A blank line precedes each section. Columns are as wide as their widest cell.
[[nodiscard]] std::string text_of(const Document& document, const Style& style);

/// Breaks text between words into lines of at most `width` columns. Lines after the first begin with `indent`. A word that
/// is longer than a line gets a line of its own.
[[nodiscard]] std::string wrap_text(std::string_view text, std::size_t width, std::string_view indent);

}  // namespace ddl
