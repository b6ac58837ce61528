#pragma once

#include <string_view>

namespace ddl {

/// The style sheet of pages. It has light and dark colors by the reader's preference, and rules
/// for narrow screens and paper.
extern const std::string_view html_style;
/// The script of pages, which zooms timelines, marks the section that the reader sees, and opens folded sections. Without
/// the script, timelines are shown as a whole.
extern const std::string_view html_script;

}  // namespace ddl
