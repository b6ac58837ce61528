#pragma once

#include <string>
#include <string_view>

#include "cli/documents/document.hpp"

namespace ddl {

/// Emphasis for terminals; plain text everywhere else.
class Style {
 public:
  explicit Style(bool colored) : colored_(colored) {}
  [[nodiscard]] std::string bold(std::string_view text) const { return wrap("1", text); }
  [[nodiscard]] std::string faint(std::string_view text) const { return wrap("2", text); }

 private:
  [[nodiscard]] std::string wrap(std::string_view code, std::string_view text) const {
    if (!colored_) return std::string(text);
    std::string out = "\033[";
    out.append(code).append("m").append(text).append("\033[0m");
    return out;
  }
  bool colored_;
};

/// A document as lines for a terminal. A blank line stands before each section; columns are as wide as their widest cell.
[[nodiscard]] std::string text_of(const Document& document, const Style& style);

/// Breaks text into lines of at most `width` columns between words; lines after the first begin with `indent`.
[[nodiscard]] std::string wrap_text(std::string_view text, std::size_t width, std::string_view indent);

}  // namespace ddl
