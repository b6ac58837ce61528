#pragma once

#include <string>
#include <string_view>

#include "cli/report/report.hpp"

namespace ddl {

/// A report as the parts of a page.
struct HtmlContent {
  std::string title;  ///< the answer in a sentence, as plain text
  std::string main;   ///< what stands between `<main>` and `</main>`
};
/// `note` stands behind the version, as plain text.
[[nodiscard]] HtmlContent html_content(const Report& report, std::string_view note = {});

}  // namespace ddl
