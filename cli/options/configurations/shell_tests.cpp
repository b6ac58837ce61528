#include "cli/options/configurations/shell_tests.hpp"

#include <algorithm>
#include <array>

#include "cli/options/configurations/shell_variables.hpp"
#include "core/find.hpp"

namespace ddl {
namespace {

constexpr int most_test_nesting = 32;

/// Evaluates one arithmetic expression by recursive descent, from the lowest precedence to the highest.
class ShellArithmetic {
 public:
  ShellArithmetic(std::string_view text, const ShellNumbers& numbers) : text_(text), numbers_(numbers) {}

  std::optional<std::int64_t> value() {
    const auto result = level(0, 0);
    skip();
    return at_ == text_.size() ? result : std::nullopt;
  }

 private:
  using Number = std::optional<std::int64_t>;
  static constexpr std::array<std::array<std::string_view, 4>, 6> operators{
      {{"||"}, {"&&"}, {"==", "!="}, {"<=", ">=", "<", ">"}, {"+", "-"}, {"*", "/", "%"}}};

  void skip() {
    while (at_ < text_.size() && (is_shell_blank(text_[at_]) || text_[at_] == '\n')) ++at_;
  }
  bool take(std::string_view word) {
    skip();
    if (word.empty() || !text_.substr(at_).starts_with(word)) return false;
    at_ += word.size();
    return true;
  }

  Number level(std::size_t tightness, int depth) {
    if (tightness == operators.size()) return factor(depth);
    Number left = level(tightness + 1, depth);
    while (true) {
      std::string_view sign;
      for (const std::string_view each : operators[tightness]) {
        if (sign.empty() && take(each)) sign = each;
      }
      if (sign.empty()) return left;
      const Number right = level(tightness + 1, depth);
      left = left && right ? result_of(sign, *left, *right) : std::nullopt;
    }
  }

  static Number result_of(std::string_view sign, std::int64_t a, std::int64_t b) {
    std::int64_t result = 0;
    if (sign == "||") return a != 0 || b != 0;
    if (sign == "&&") return a != 0 && b != 0;
    if (sign == "==") return a == b;
    if (sign == "!=") return a != b;
    if (sign == "<=") return a <= b;
    if (sign == ">=") return a >= b;
    if (sign == "<") return a < b;
    if (sign == ">") return a > b;
    if (sign == "+") return __builtin_add_overflow(a, b, &result) ? std::nullopt : Number(result);
    if (sign == "-") return __builtin_sub_overflow(a, b, &result) ? std::nullopt : Number(result);
    if (sign == "*") return __builtin_mul_overflow(a, b, &result) ? std::nullopt : Number(result);
    // The smallest number divided by -1 overflows, so division by -1 is refused, too.
    if (b == 0 || b == -1) return std::nullopt;
    return sign == "/" ? a / b : a % b;
  }

  Number factor(int depth) {
    if (depth > most_test_nesting) return std::nullopt;
    if (take("(")) {
      const Number inner = level(0, depth + 1);
      return take(")") ? inner : std::nullopt;
    }
    if (take("-")) {
      const Number inner = factor(depth + 1);
      return inner ? result_of("-", 0, *inner) : std::nullopt;
    }
    if (take("!")) {
      const Number inner = factor(depth + 1);
      return inner ? Number(*inner == 0) : std::nullopt;
    }
    skip();
    const bool in_braces = text_.substr(at_).starts_with("${");
    if (in_braces) {
      at_ += 2;
    } else if (at_ < text_.size() && text_[at_] == '$') {
      ++at_;
    }
    const std::size_t from = at_;
    while (at_ < text_.size() && goes_on_in_shell_name(text_[at_])) ++at_;
    const std::string word(text_.substr(from, at_ - from));
    if (in_braces && !take("}")) return std::nullopt;
    if (word.empty()) return std::nullopt;
    if (!is_shell_digit(word.front()) || (in_braces || (from > 0 && text_[from - 1] == '$'))) return numbers_(word);
    if (word.size() > 18 || !std::ranges::all_of(word, is_shell_digit)) return std::nullopt;
    return std::stoll(word);
  }

  std::string_view text_;
  const ShellNumbers& numbers_;
  std::size_t at_ = 0;
};

using Answer = std::optional<bool>;
Answer negation(Answer answer) { return answer ? Answer(!*answer) : std::nullopt; }
Answer both(Answer a, Answer b) {
  if ((a && !*a) || (b && !*b)) return false;
  return a && b ? Answer(true) : std::nullopt;
}
Answer either(Answer a, Answer b) { return negation(both(negation(a), negation(b))); }

class ShellTest {
 public:
  ShellTest(const std::vector<PlacedText>& words, const std::function<bool(const PlacedText&)>& is_unset)
      : words_(words), is_unset_(is_unset) {}

  Answer value() {
    const Answer result = any(0);
    return at_ == words_.size() ? result : std::nullopt;
  }

 private:
  [[nodiscard]] std::string_view word(std::size_t at) const {
    return at < words_.size() ? words_[at].text : std::string_view();
  }
  bool take(std::string_view text) {
    if (at_ >= words_.size() || words_[at_].text != text) return false;
    ++at_;
    return true;
  }

  Answer any(int depth) {
    Answer left = all(depth);
    while (take("||") || take("-o")) left = either(left, all(depth));
    return left;
  }
  Answer all(int depth) {
    Answer left = one(depth);
    while (take("&&") || take("-a")) left = both(left, one(depth));
    return left;
  }

  Answer one(int depth) {
    if (depth > most_test_nesting || at_ >= words_.size()) return std::nullopt;
    if (words_.size() - at_ > 1 && take("!")) return negation(one(depth + 1));
    if (words_.size() - at_ > 2 && is_operator(word(at_ + 1))) return comparison();
    if (take("(")) {
      const Answer inner = any(depth + 1);
      return take(")") ? inner : std::nullopt;
    }
    const std::string_view sign = word(at_);
    if (sign.size() == 2 && sign[0] == '-' && words_.size() - at_ > 1 && begins_shell_name(sign[1])) {
      const PlacedText& operand = words_[at_ + 1];
      at_ += 2;
      if (sign == "-z") return negation(is_something(operand));
      if (sign == "-n") return is_something(operand);
      return std::nullopt;  // tests of files, such as -f, are not decided
    }
    return is_something(words_[at_++]);
  }

  static bool is_operator(std::string_view text) {
    constexpr std::array<std::string_view, 13> all{"=",   "==",  "!=",  "=~",  "<",   ">",  "-eq",
                                                   "-ne", "-lt", "-le", "-gt", "-ge", "-ef"};
    return contains(all, text);
  }

  [[nodiscard]] Answer is_something(const PlacedText& text) const {
    if (text.is_known()) return !text.text.empty();
    if (is_unset_(text)) return false;
    // A word with at least one known byte is not empty.
    const bool has_known =
        std::ranges::any_of(text.origins, [](const ByteOrigin& each) { return each.certainty == Certainty::known; });
    return has_known ? Answer(true) : std::nullopt;
  }

  Answer comparison() {
    const PlacedText& left = words_[at_];
    const std::string_view sign = words_[at_ + 1].text;
    const PlacedText& right = words_[at_ + 2];
    at_ += 3;
    if (!left.is_known() || !right.is_known()) return std::nullopt;
    if (sign == "=" || sign == "==") return fits_pattern(right.text, left.text);
    if (sign == "!=") return !fits_pattern(right.text, left.text);
    if (!sign.starts_with('-')) return std::nullopt;
    const auto a = shell_number(left), b = shell_number(right);
    if (!a || !b) return std::nullopt;
    if (sign == "-eq") return *a == *b;
    if (sign == "-ne") return *a != *b;
    if (sign == "-lt") return *a < *b;
    if (sign == "-le") return *a <= *b;
    if (sign == "-gt") return *a > *b;
    if (sign == "-ge") return *a >= *b;
    return std::nullopt;
  }

  const std::vector<PlacedText>& words_;
  const std::function<bool(const PlacedText&)>& is_unset_;
  std::size_t at_ = 0;
};

}  // namespace

std::optional<std::int64_t> shell_arithmetic(std::string_view text, const ShellNumbers& numbers) {
  return ShellArithmetic(text, numbers).value();
}

std::optional<bool> shell_test(const std::vector<PlacedText>& words,
                               const std::function<bool(const PlacedText&)>& is_unset) {
  return ShellTest(words, is_unset).value();
}

bool fits_pattern(std::string_view pattern, std::string_view word) {
  constexpr std::size_t most_steps = 1'000'000;
  if (pattern.size() * word.size() > most_steps) return pattern == word;
  // After a mismatch, the last star matches one more character, and the comparison continues after the star.
  std::size_t p = 0, w = 0, star = std::string_view::npos, from = 0;
  while (w < word.size()) {
    bool fits = false;
    std::size_t next = p + 1;
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      from = w;
      continue;
    }
    if (p < pattern.size() && pattern[p] == '[') {
      const std::size_t close = pattern.find(']', p + 2);
      if (close != std::string_view::npos) {
        const std::string_view set = pattern.substr(p + 1, close - p - 1);
        fits = set.find(word[w]) != std::string_view::npos;
        for (std::size_t i = 1; i + 1 < set.size(); ++i)
          fits = fits || (set[i] == '-' && set[i - 1] <= word[w] && word[w] <= set[i + 1]);
        next = close + 1;
      } else {
        fits = word[w] == '[';
      }
    } else {
      fits = p < pattern.size() && (pattern[p] == '?' || pattern[p] == word[w]);
    }
    if (fits) {
      p = next;
      ++w;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      w = ++from;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

}  // namespace ddl
