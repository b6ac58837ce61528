#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/commands/serve/question.hpp"

namespace ddl {

/// The content of the page below its controls.
struct PageAnswer {
  std::string title;  ///< title of the page, as plain text
  std::string main;   ///< HTML
};

/// The content of the page for a question that could not be answered: the error, its hint, links to the same question with
/// the proposals of the hint, and links to questions that can be answered.
[[nodiscard]] PageAnswer problem_of(const PageQuestion& question, std::string_view what, std::string_view hint);
/// Adds notes above an answer, each a sentence in plain text.
[[nodiscard]] PageAnswer with_notes(PageAnswer answer, const std::vector<std::string>& notes);

/// Returns the page as HTML: the controls, set to `question`, then the answer.
[[nodiscard]] std::string page_text(const PageQuestion& question, const PageAnswer& answer, const OfferedFiles& files);

/// One side of a comparison: a question, the first screen of its answer, and its figures (names and texts in the same
/// order).
struct ComparedAnswer {
  PageQuestion question;
  PageAnswer answer;
  std::vector<std::pair<std::string, std::string>> figures{};
};
/// Returns the page that shows two answers next to each other, after the differences of their questions and figures.
[[nodiscard]] std::string comparison_text(const ComparedAnswer& a, const ComparedAnswer& b);
/// Returns the page that asks for the links of two answers, which are set to `a` and `b`. `problem`: why there is no
/// comparison yet; may be empty.
[[nodiscard]] std::string comparison_form(std::string_view problem, std::string_view a, std::string_view b);

extern const std::string_view page_style;       ///< the page's style sheet, in addition to html_style
extern const std::string_view progress_script;  ///< shows the progress of a search; page_script calls it
extern const std::string_view page_script;      ///< the page's script, which runs after html_script

}  // namespace ddl
