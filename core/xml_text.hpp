#pragma once

#include <string>
#include <string_view>

namespace ddl {

/// Escapes `text` for use as character data or as an attribute value of an XML document, including
/// SVG. Control characters that XML 1.0 does not allow become question marks.
[[nodiscard]] std::string xml_text(std::string_view text);

}  // namespace ddl
