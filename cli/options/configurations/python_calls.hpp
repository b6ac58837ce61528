#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ddl {

/// An argument of a call in Python: `r=16`. Positional arguments have no name.
struct PythonArgument {
  std::string name{};
  std::string text;    ///< the expression
  std::size_t offset;  ///< of the expression in the program's text
};

/// A call in Python: `LoraConfig(r=16)`.
struct PythonCall {
  std::string function;  ///< with the names before it: `AutoModelForCausalLM.from_pretrained`
  std::vector<PythonArgument> arguments;
};

/// Returns the calls in a program's text, in their order, also those within arguments of other calls. Strings and comments
/// are skipped. Of a text with a bracket that is not closed, returns the calls before it.
[[nodiscard]] std::vector<PythonCall> python_calls(std::string_view text);

/// The names that a program sets once, to a literal.
class PythonNames {
 public:
  explicit PythonNames(std::string_view program);
  /// Returns the value of an expression that is a number, a text, True, False, None, a type of torch, or one of these names,
  /// or a list of literals, whose items are separated by spaces. Unset for all others.
  [[nodiscard]] std::optional<std::string> literal(std::string_view expression) const;

 private:
  std::map<std::string, std::string> values_;  ///< empty for names that are set several times, or in a branch
};

}  // namespace ddl
