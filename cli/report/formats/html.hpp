#pragma once

#include <string>
#include <string_view>

#include "cli/report/report.hpp"

namespace ddl {

/// A report as the parts of a page.
struct HtmlContent {
  std::string title;  ///< the answer in one sentence, as plain text
  std::string main;   ///< the content between `<main>` and `</main>`
};
/// `note` follows the version, as plain text.
[[nodiscard]] HtmlContent html_content(const Report& report, std::string_view note = {});

}  // namespace ddl
