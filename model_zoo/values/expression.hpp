#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ddl {

/// The value of a parameter of a model file as text, and also as a number if it is a whole number.
struct Value {
  std::string text;
  std::optional<std::int64_t> number;
};
[[nodiscard]] Value value_of(std::string text);
[[nodiscard]] Value value_of(std::int64_t number);

/// The values of the parameters of a block or a model. Names that the block does not define are
/// looked up in the enclosing blocks and the model.
class Parameters {
 public:
  explicit Parameters(const Parameters* enclosing = nullptr) : enclosing_(enclosing) {}
  void set(std::string name, Value value) { values_.emplace(std::move(name), std::move(value)); }
  [[nodiscard]] const Value* find(std::string_view name) const;
  /// Returns the names of all parameters for which `find` returns a value.
  [[nodiscard]] std::vector<std::string_view> names() const;

 private:
  const Parameters* enclosing_;
  std::map<std::string, Value, std::less<>> values_;
};

/// The reserved parameter for the number of channels of the tensor that an element reads.
inline constexpr std::string_view channels_parameter = "channels";

/// Returns whether a text contains parameters, and is therefore an expression and not a literal.
[[nodiscard]] inline bool is_expression(std::string_view text) { return text.find('$') != std::string_view::npos; }

/// Returns the value of an expression of a model file. An expression consists of whole numbers, words, `$name`, `+ - * /` (a
/// division must have no remainder), `%`, parentheses, `== != < <= > >=`, `and`, `or`. A single `$name` may be any text.
/// Throws Error without a position, which the caller adds.
[[nodiscard]] Value evaluate(std::string_view expression, const Parameters& parameters,
                             std::optional<std::int64_t> channels);
/// Returns the value of a condition. Throws Error if the value is neither true nor false.
[[nodiscard]] bool evaluate_condition(std::string_view expression, const Parameters& parameters,
                                      std::optional<std::int64_t> channels);
/// Throws Error for errors that do not depend on values: wrong syntax, or a name that is not among `parameters`.
void check_expression(std::string_view expression, const Parameters& parameters);

}  // namespace ddl
