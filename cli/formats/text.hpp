#pragma once

#include <string>
#include <string_view>

#include "cli/documents/document.hpp"
#include "cli/formats/style.hpp"

namespace ddl {

/// A document as lines for a terminal. A blank line stands before each section; columns are as wide as their widest cell.
[[nodiscard]] std::string text_of(const Document& document, const Style& style);

/// Breaks text into lines of at most `width` columns between words; lines after the first begin with `indent`.
[[nodiscard]] std::string wrap_text(std::string_view text, std::size_t width, std::string_view indent);

}  // namespace ddl
