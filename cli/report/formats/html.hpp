#pragma once

#include <string>
#include <string_view>

#include "cli/report/report.hpp"

namespace ddl {

/// The style sheet of pages. It has light and dark colors by the reader's preference, and rules for narrow screens and
/// paper.
extern const std::string_view html_style;
/// The script of pages, which zooms timelines, marks the section that the reader sees, and opens folded sections. Without
/// the script, timelines are shown as a whole.
extern const std::string_view html_script;

/// The parts of a page that shows a report.
struct HtmlContent {
  std::string title;  ///< the answer in one sentence, as plain text
  std::string main;   ///< the content between `<main>` and `</main>`
};
/// Converts a report to HTML. `note`: plain text that follows the version.
[[nodiscard]] HtmlContent html_content(const Report& report, std::string_view note = {});
/// Converts the part of a report before its first heading to HTML. `prefix`: the start of all ids, which differs for each
/// report of a page.
[[nodiscard]] HtmlContent html_first_screen(const Report& report, std::string_view prefix);

}  // namespace ddl
