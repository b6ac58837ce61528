#include "model_zoo/values/expression.hpp"

#include <charconv>
#include <limits>

#include <fmt/format.h>

#include "core/error.hpp"
#include "core/source_text.hpp"
#include "core/suggest.hpp"

namespace ddl {
namespace {

constexpr int max_nesting = 64;
constexpr std::size_t max_length = 1000;
/// The text between the dimensions of a size: `$height / 8 x $width / 8`.
constexpr std::string_view size_separator = " x ";

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

std::optional<std::int64_t> whole_number(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (problem != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

Value truth(bool value) { return {.text = value ? "yes" : "no", .number = {}}; }

/// Evaluates an expression while parsing it. In check mode, values are unknown, and only syntax and names are checked.
class Evaluator {
 public:
  Evaluator(std::string_view text, const Parameters& parameters, std::optional<std::int64_t> channels, bool checking)
      : text_(text), parameters_(parameters), channels_(channels), checking_(checking) {}

  Value run() {
    if (text_.size() > max_length) fail(fmt::format("more than {} characters", max_length));
    Value value = alternative();
    skip_space();
    if (at_ != text_.size()) fail(fmt::format("{} does not belong here", quote(text_.substr(at_))));
    return value;
  }

  [[nodiscard]] bool is_true(const Value& value) const {
    if (checking_ || value.text == "yes" || value.text == "true") return true;
    if (value.text == "no" || value.text == "false") return false;
    fail(fmt::format("{} is neither yes nor no", quote(value.text)), "compare with ==, !=, <, <=, > or >=");
  }

 private:
  Value alternative() {
    Value left = conjunction();
    while (take_word("or")) {
      const Value right = conjunction();
      const bool first = is_true(left);
      const bool second = is_true(right);
      left = truth(first || second);
    }
    return left;
  }

  Value conjunction() {
    Value left = comparison();
    while (take_word("and")) {
      const Value right = comparison();
      const bool first = is_true(left);
      const bool second = is_true(right);
      left = truth(first && second);
    }
    return left;
  }

  Value comparison() {
    Value left = sum();
    for (const std::string_view sign : {"==", "!=", "<=", ">=", "<", ">"}) {
      if (!take(sign)) continue;
      const Value right = sum();
      if (checking_) return truth(true);
      if (sign == "==" || sign == "!=") {
        const bool equal = left.number && right.number ? *left.number == *right.number : left.text == right.text;
        return truth(equal == (sign == "=="));
      }
      const std::int64_t a = number(left);
      const std::int64_t b = number(right);
      return truth(sign == "<=" ? a <= b : sign == ">=" ? a >= b : sign == "<" ? a < b : a > b);
    }
    return left;
  }

  Value sum() {
    Value left = product();
    for (;;) {
      if (take("+")) {
        left = combine(left, product(), '+');
      } else if (take("-")) {
        left = combine(left, product(), '-');
      } else {
        return left;
      }
    }
  }

  Value product() {
    Value left = factor();
    for (;;) {
      if (take("*")) {
        left = combine(left, factor(), '*');
      } else if (take("/")) {
        left = combine(left, factor(), '/');
      } else if (take("%")) {
        left = combine(left, factor(), '%');
      } else {
        return left;
      }
    }
  }

  Value factor() {
    skip_space();
    if (++nesting_ > max_nesting) fail(fmt::format("nested deeper than {} levels", max_nesting));
    Value value = unnested_factor();
    --nesting_;
    return value;
  }

  Value unnested_factor() {
    if (at_ == text_.size()) fail("the expression ends where a value should follow");
    if (take("-")) return combine(value_of(std::int64_t{0}), factor(), '-');
    if (take("(")) {
      Value value = alternative();
      if (!take(")")) fail("a ')' is missing");
      return value;
    }
    const char first = text_[at_];
    if (first == '$') {
      ++at_;
      return parameter(run_of_letters());
    }
    if (is_digit(first)) {
      const std::size_t start = at_;
      while (at_ < text_.size() && is_digit(text_[at_])) ++at_;
      const std::string_view digits = text_.substr(start, at_ - start);
      if (!whole_number(digits)) fail(fmt::format("{} is too large", quote(digits)));
      return value_of(std::string(digits));
    }
    if (is_letter(first)) return {.text = std::string(run_of_letters()), .number = {}};
    fail(fmt::format("{} does not belong here", quote(text_.substr(at_))),
         "an expression has whole numbers, $names, + - * / %, parentheses and comparisons");
  }

  Value parameter(std::string_view name) {
    if (name.empty()) fail("'$' without a name", "write $name for the value of the parameter 'name'");
    if (name == channels_parameter) {
      if (checking_) return {};
      if (!channels_) fail("'$channels' has no meaning here", "$channels is the number of channels of a layer's input");
      return value_of(*channels_);
    }
    const Value* const value = parameters_.find(name);
    if (value == nullptr) {
      fail(fmt::format("unknown parameter {}", quote(fmt::format("${}", name))), suggest(name, parameters_.names()));
    }
    return *value;
  }

  [[nodiscard]] std::int64_t number(const Value& value) const {
    if (!value.number) fail(fmt::format("{} is not a whole number", quote(value.text)));
    return *value.number;
  }

  [[nodiscard]] Value combine(const Value& left, const Value& right, char sign) const {
    if (checking_) return value_of(std::int64_t{1});
    const std::int64_t a = number(left);
    const std::int64_t b = number(right);
    std::int64_t result = 0;
    bool overflow = false;
    switch (sign) {
      case '+':
        overflow = __builtin_add_overflow(a, b, &result);
        break;
      case '-':
        overflow = __builtin_sub_overflow(a, b, &result);
        break;
      case '*':
        overflow = __builtin_mul_overflow(a, b, &result);
        break;
      default:
        if (b == 0) fail(fmt::format("{} is divided by zero", a));
        overflow = b == -1 && a == std::numeric_limits<std::int64_t>::min();
        if (sign == '%') {
          result = overflow ? 0 : a % b;
          overflow = false;
        } else if (!overflow) {
          if (a % b != 0) fail(fmt::format("{} / {} is not a whole number", a, b));
          result = a / b;
        }
    }
    if (overflow) fail(fmt::format("{} {} {} is too large", a, sign, b));
    return value_of(result);
  }

  void skip_space() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }

  bool take(std::string_view sign) {
    skip_space();
    if (text_.substr(at_, sign.size()) != sign) return false;
    at_ += sign.size();
    return true;
  }

  bool take_word(std::string_view word) {
    skip_space();
    const std::size_t start = at_;
    if (at_ < text_.size() && is_letter(text_[at_]) && run_of_letters() == word) return true;
    at_ = start;
    return false;
  }

  std::string_view run_of_letters() {
    const std::size_t start = at_;
    while (at_ < text_.size() && (is_letter(text_[at_]) || is_digit(text_[at_]))) ++at_;
    return text_.substr(start, at_ - start);
  }

  [[noreturn]] void fail(const std::string& message, const std::string& hint = {}) const {
    throw Error(fmt::format("{} in {}", message, quote(text_)), hint);
  }

  std::string_view text_;
  const Parameters& parameters_;
  std::optional<std::int64_t> channels_;
  bool checking_;
  std::size_t at_ = 0;
  int nesting_ = 0;
};

}  // namespace

Value value_of(std::string text) {
  const std::optional<std::int64_t> number = whole_number(text);
  return {.text = std::move(text), .number = number};
}

Value value_of(std::int64_t number) { return {.text = fmt::to_string(number), .number = number}; }

const Value* Parameters::find(std::string_view name) const {
  for (const Parameters* scope = this; scope != nullptr; scope = scope->enclosing_) {
    if (const auto found = scope->values_.find(name); found != scope->values_.end()) return &found->second;
  }
  return nullptr;
}

std::vector<std::string_view> Parameters::names() const {
  std::vector<std::string_view> result;
  for (const Parameters* scope = this; scope != nullptr; scope = scope->enclosing_) {
    for (const auto& [name, value] : scope->values_) result.emplace_back(name);
  }
  return result;
}

Value evaluate(std::string_view expression, const Parameters& parameters, std::optional<std::int64_t> channels) {
  const std::size_t end = expression.find(size_separator);
  if (end == std::string_view::npos || expression.size() > max_length)
    return Evaluator(expression, parameters, channels, false).run();
  // Only whole numbers are sizes. Each dimension of a size is an expression of its own.
  const Value first = Evaluator(expression.substr(0, end), parameters, channels, false).run();
  const Value rest = evaluate(expression.substr(end + size_separator.size()), parameters, channels);
  return {.text = fmt::format("{}x{}", first.text, rest.text), .number = {}};
}

bool evaluate_condition(std::string_view expression, const Parameters& parameters, std::optional<std::int64_t> channels) {
  Evaluator evaluator(expression, parameters, channels, false);
  return evaluator.is_true(evaluator.run());
}

void check_expression(std::string_view expression, const Parameters& parameters) {
  const bool is_short = expression.size() <= max_length;
  for (std::size_t end = 0; is_short && (end = expression.find(size_separator)) != std::string_view::npos;) {
    Evaluator(expression.substr(0, end), parameters, std::nullopt, true).run();
    expression.remove_prefix(end + size_separator.size());
  }
  Evaluator(expression, parameters, std::nullopt, true).run();
}

}  // namespace ddl
