#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace ddl {

/// An argument of a call in Python: `r=16`. Positional arguments have no name.
struct PythonArgument {
  std::string name{};
  std::string text;    ///< the expression; `...` if its brackets are nested too deeply
  std::size_t offset;  ///< offset of the expression in the program's text
};

/// A call in Python: `LoraConfig(r=16)`.
struct PythonCall {
  std::string function;  ///< with the names before it: `AutoModelForCausalLM.from_pretrained`
  std::vector<PythonArgument> arguments;
  bool has_unpacked = false;  ///< has an argument such as `**values`, whose content is not known
};

/// Returns the calls in a program's text, in their order, also those within arguments of other calls. Strings, comments and
/// the heads of functions and classes are skipped, and what is nested in more than 32 brackets. If a call is not closed,
/// returns the calls before this call.
[[nodiscard]] std::vector<PythonCall> python_calls(std::string_view text);

/// The names that a program sets to a single literal, and changes nowhere.
class PythonNames {
 public:
  explicit PythonNames(std::string_view program);
  /// Returns the value of an expression that is a number, a text, True, False, None, a type of torch, or one of these names,
  /// or a list of literals, whose items are separated by spaces. Unset for all others.
  [[nodiscard]] std::optional<std::string> literal(std::string_view expression) const;
  /// Returns the attributes that the program sets on any object: `x` for `args.x = 1`, but not for `self.x = 1`.
  [[nodiscard]] const std::set<std::string, std::less<>>& assigned_attributes() const { return attributes_; }

 private:
  std::map<std::string, std::optional<std::string>, std::less<>> values_;  ///< unset for names without a single literal
  std::set<std::string, std::less<>> attributes_;
};

}  // namespace ddl
