#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ddl {

/// Files that the page may use: the files on the command line, and no others.
struct OfferedFiles {
  std::vector<std::string> models, machines;
};

/// An input field of the page.
struct Control {
  std::string_view key;     ///< key of the field in a link
  std::string_view option;  ///< the corresponding option of `recommend`
  std::string_view label;
  std::string_view initial;  ///< value of the field if a link sets no field at all
  std::string_view hint;     ///< placeholder while the field is empty
  enum class Kind { name, choice, figures, words } kind = Kind::figures;
  bool is_rare = false;  ///< whether the page folds the field with other rarely used fields
};
/// All controls, in the order of the page.
[[nodiscard]] const std::vector<Control>& controls();
/// The choices of a control; empty for a number.
[[nodiscard]] std::vector<std::string> offers_of(const Control& control, const OfferedFiles& files);

/// A question of the page: the non-empty values of the controls, in the order of the controls.
struct PageQuestion {
  std::vector<std::pair<std::string, std::string>> values;

  [[nodiscard]] std::string value_of(std::string_view key) const;
  /// The query of a link to the question: the text after the `?`.
  [[nodiscard]] std::string query() const;
};

/// Parses the query of a link. Throws Error for an unknown key, a repeated key, a value that is too
/// long, and the name of a file that is not in `files`.
[[nodiscard]] PageQuestion question_of(std::string_view query, const OfferedFiles& files);

/// For each value that a hint proposes, such as `did you mean 'llama3-8b'?`, returns the proposal, and the question with
/// this value in place of the value in the message.
[[nodiscard]] std::vector<std::pair<std::string, PageQuestion>> mended(const PageQuestion& question, std::string_view what,
                                                                       std::string_view hint);

/// The question as arguments of the program, and the values that were dropped because they do not apply to the model.
struct AskedWords {
  std::vector<std::string> words;
  std::vector<std::string> notes;
};
[[nodiscard]] AskedWords words_of(const PageQuestion& question);

}  // namespace ddl
