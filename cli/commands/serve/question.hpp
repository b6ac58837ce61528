#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ddl {

/// Files that the page may name, as they were given on the command line: it names no others.
struct OfferedFiles {
  std::vector<std::string> models, machines;
};

/// Something that the page asks for.
struct Control {
  std::string_view key;     ///< of it in a link
  std::string_view option;  ///< of `recommend`
  std::string_view label;
  std::string_view initial;  ///< where a link says nothing at all
  std::string_view hint;     ///< what stands in it while it is empty
  enum class Kind { name, choice, figures } kind = Kind::figures;
};
/// All of them, in the order in which they stand on the page.
[[nodiscard]] const std::vector<Control>& controls();
/// What a control offers; of a figure nothing.
[[nodiscard]] std::vector<std::string> offers_of(const Control& control, const OfferedFiles& files);

/// A question of the page: values of controls, in their order. Those that are empty are not there.
struct PageQuestion {
  std::vector<std::pair<std::string, std::string>> values;

  [[nodiscard]] std::string value_of(std::string_view key) const;
  /// What a link to it has behind the `?`.
  [[nodiscard]] std::string query() const;
};

/// Reads a link. Throws Error on a key that is none, on one that stands there twice, on a value that is too long, and on a
/// name that means a file which is not offered.
[[nodiscard]] PageQuestion question_of(std::string_view query, const OfferedFiles& files);

/// The same as arguments of the program, and what of it was left out since the model has no such thing.
struct AskedWords {
  std::vector<std::string> words;
  std::vector<std::string> notes;
};
[[nodiscard]] AskedWords words_of(const PageQuestion& question);

}  // namespace ddl
