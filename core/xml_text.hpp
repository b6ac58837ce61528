#pragma once

#include <string>
#include <string_view>

namespace ddl {

/// `text` as character data or an attribute's value of an XML document, SVG among them. Control characters that XML 1.0 has
/// no place for become a question mark.
[[nodiscard]] std::string xml_text(std::string_view text);

}  // namespace ddl
