#pragma once

#include <string_view>

namespace ddl {

/// The style sheet of pages: light and dark as the reader has it, narrow screens and paper.
extern const std::string_view html_style;
/// The script of pages, which zooms timelines. Without it they are whole.
extern const std::string_view html_script;

}  // namespace ddl
