#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/commands/serve/question.hpp"

namespace ddl {

/// The content of the page below its controls.
struct PageAnswer {
  std::string title;  ///< title of the page, as plain text
  std::string main;   ///< HTML
};

/// The content of the page for a question that could not be answered: the error with its hint.
[[nodiscard]] PageAnswer problem_of(std::string_view what, std::string_view hint);
/// Adds notes above an answer, each a sentence in plain text.
[[nodiscard]] PageAnswer with_notes(PageAnswer answer, const std::vector<std::string>& notes);

/// Returns the page as HTML: the controls, set to `question`, then the answer.
[[nodiscard]] std::string page_text(const PageQuestion& question, const PageAnswer& answer, const OfferedFiles& files);

extern const std::string_view page_style;   ///< the page's style sheet, in addition to html_style
extern const std::string_view page_script;  ///< the page's script, which runs after html_script

}  // namespace ddl
