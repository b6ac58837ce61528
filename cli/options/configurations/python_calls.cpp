#include "cli/options/configurations/python_calls.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace ddl {
namespace {

constexpr std::string_view gaps = " \t\r\n\\";
constexpr std::size_t deepest = 32;  // brackets within brackets
constexpr std::size_t longest_value = 16'384;

bool begins_name(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_number_start(char c) { return c >= '0' && c <= '9'; }
bool goes_on_in_name(char c) { return begins_name(c) || is_number_start(c) || c == '.'; }
bool is_gap(char c) { return gaps.find(c) != std::string_view::npos; }
bool opens(char c) { return c == '(' || c == '[' || c == '{'; }
bool closes(char c) { return c == ')' || c == ']' || c == '}'; }

template <std::size_t count>
bool is_one_of(const std::array<std::string_view, count>& words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

/// Returns the name at `at`, with the names after dots.
std::string_view name_at(std::string_view text, std::size_t at) {
  std::size_t end = at;
  while (end < text.size() && goes_on_in_name(text[end])) ++end;
  return text.substr(at, end - at);
}

/// Returns the end of the string or the comment that begins at `at`; `at` if none begins there.
std::size_t end_of_inert(std::string_view text, std::size_t at) {
  if (text[at] == '#') return std::min(text.find('\n', at), text.size());
  if (text[at] != '"' && text[at] != '\'') return at;
  const char quote = text[at];
  const bool is_long = text.substr(at, 3) == std::string(3, quote);
  for (std::size_t i = at + (is_long ? 3 : 1); i < text.size(); ++i) {
    if (text[i] == '\\') {
      ++i;
    } else if (is_long ? text.substr(i, 3) == std::string(3, quote) : text[i] == quote) {
      return i + (is_long ? 3 : 1);
    } else if (!is_long && text[i] == '\n') {
      return i;
    }
  }
  return text.size();
}

std::string_view stripped(std::string_view text) {
  const std::size_t first = text.find_first_not_of(gaps);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(gaps) - first + 1);
}

/// Returns the offset after the spaces and comments at `at`.
std::size_t end_of_gaps(std::string_view text, std::size_t at) {
  while (at < text.size() && (is_gap(text[at]) || text[at] == '#')) at = text[at] == '#' ? end_of_inert(text, at) : at + 1;
  return at;
}

/// Adds the argument within a call that begins and ends at these offsets, and takes its name off: `r=16`, but not `a == b`.
void add_argument(std::string_view program, std::size_t begin, std::size_t end, bool is_too_deep, PythonCall& call) {
  begin = end_of_gaps(program.substr(0, end), begin);
  std::string_view text = stripped(program.substr(begin, end - begin));
  if (text.empty()) return;
  if (text[0] == '*') call.has_unpacked = true;
  std::string_view name = name_at(text, 0);
  const std::size_t equals = std::min(text.find_first_not_of(gaps, name.size()), text.size());
  if (!name.empty() && text.substr(equals, 1) == "=" && text.substr(equals, 2) != "==") {
    const std::size_t value = std::min(text.find_first_not_of(gaps, equals + 1), text.size());
    begin += value;
    text.remove_prefix(value);
  } else {
    name = {};
  }
  call.arguments.push_back(
      {.name = std::string(name), .text = std::string(is_too_deep ? std::string_view("...") : text), .offset = begin});
}

/// Returns an expression without the comments before and after it; the whole text if a comment is inside the expression.
std::string_view without_comments(std::string_view expression) {
  const std::string_view text = stripped(expression.substr(end_of_gaps(expression, 0)));
  for (std::size_t i = 0; i < text.size(); i = std::max(end_of_inert(text, i), i + 1)) {
    if (text[i] == '#') return end_of_gaps(text, i) == text.size() ? stripped(text.substr(0, i)) : text;
  }
  return text;
}

std::optional<std::string> plain_literal(std::string_view text) {
  if (text == "True" || text == "False" || text == "None") return text == "None" ? "null" : std::string(text);
  const std::size_t digits = text.starts_with('-') ? 1 : 0;
  const bool is_number = text.size() > digits && is_number_start(text[digits]) &&
                         text.find_first_not_of("0123456789.eE_+-") == std::string_view::npos;
  if (is_number) {
    // A sign within a number belongs to its exponent: `8-4` is an expression.
    for (std::size_t i = text.find_first_of("+-", 1); i != std::string_view::npos; i = text.find_first_of("+-", i + 1)) {
      if (text[i - 1] != 'e' && text[i - 1] != 'E') return std::nullopt;
    }
    std::string number(text);
    std::erase(number, '_');
    return number;
  }
  if (text.size() >= 2 && (text[0] == '"' || text[0] == '\'') && end_of_inert(text, 0) == text.size()) {
    const std::size_t quotes = text.substr(0, 3) == std::string(3, text[0]) && text.size() >= 6 ? 3 : 1;
    const std::string_view inside = text.substr(quotes, text.size() - 2 * quotes);
    if (inside.find('\\') == std::string_view::npos) return std::string(inside);
  }
  if (text.starts_with("torch.") &&
      text.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789.") == std::string_view::npos)
    return std::string(text.substr(6));
  return std::nullopt;
}

/// Returns the value of a literal, or of a list of them, whose items are separated by spaces.
std::optional<std::string> literal_of(std::string_view expression) {
  const std::string_view text = without_comments(expression);
  if (text.empty() || (text[0] != '[' && text[0] != '(')) return plain_literal(text);
  std::string words;
  for (std::size_t i = 1, begin = 1; i < text.size() && !opens(text[i]); i = std::max(end_of_inert(text, i), i + 1)) {
    if (text[i] != ',' && !closes(text[i])) continue;
    const std::string_view item = without_comments(text.substr(begin, i - begin));
    begin = i + 1;
    if (!item.empty()) {
      const std::optional<std::string> word = plain_literal(item);
      if (!word) return std::nullopt;
      words += (words.empty() ? "" : " ") + *word;
    }
    if (closes(text[i])) return begin == text.size() ? std::optional(words) : std::nullopt;
  }
  return std::nullopt;
}

/// Reads what the statements of a program bind. The language: docs.python.org, "The Python Language Reference", chapters 7
/// and 8, and 4.2.1, "Binding of names".
class Bindings {
 public:
  using Values = std::map<std::string, std::optional<std::string>, std::less<>>;
  using Attributes = std::set<std::string, std::less<>>;

  Bindings(std::string_view text, Values& values, Attributes& attributes)
      : text_(text), values_(values), attributes_(attributes) {}

  void read() {
    begin_statement(is_at_margin(0));
    for (std::size_t i = 0; i < text_.size();) {
      const std::size_t inert = end_of_inert(text_, i);
      const char c = text_[i];
      if (begin_ == none && c != '#' && (c == '\n' || !is_gap(c))) begin_ = i;
      if (inert > i) {
        i = inert;
      } else if (goes_on_in_name(c)) {
        i = read_word(i);
      } else if (c == '\\') {
        i = text_.substr(i + 1, 1) == "\r" ? i + 3 : i + 2;
      } else {
        i = read_sign(i);
      }
    }
    end_statement(text_.size());
  }

 private:
  static constexpr std::size_t none = std::string_view::npos;

  [[nodiscard]] bool is_at_margin(std::size_t at) const {
    return at < text_.size() && text_[at] != ' ' && text_[at] != '\t';
  }

  void begin_statement(bool is_constant) {
    begin_ = first_colon_ = in_ = none;
    equals_.clear();
    keyword_ = last_word_ = {};
    is_constant_ = is_constant;
  }

  void bind(std::string_view name, const std::optional<std::string>& value) {
    if (name.empty()) return;
    const auto [entry, is_new] = values_.emplace(name, value);
    if (!is_new && entry->second != value) entry->second.reset();
  }

  std::size_t read_word(std::size_t at) {
    const std::string_view word = name_at(text_, at);
    if (at == begin_) {
      keyword_ = word;
      if (word == "async") begin_ = none;  // the next word is the keyword
    }
    const bool is_defined = last_word_ == "def" || last_word_ == "class" || last_word_ == "as";
    if (is_defined || as_depth_ != none) bind_target(word, false);
    if (word == "in" && depth_ == 0 && in_ == none) in_ = at;
    // Methods that change a list.
    constexpr std::array<std::string_view, 8> changes{"append", "extend", "insert", "remove",
                                                      "pop",    "clear",  "sort",   "reverse"};
    if (const std::size_t dot = word.rfind('.'); dot != none && is_one_of(changes, word.substr(dot + 1)))
      bind(word.substr(0, word.find('.')), std::nullopt);
    last_word_ = word;
    return at + word.size();
  }

  std::size_t read_sign(std::size_t at) {
    const char c = text_[at], next = at + 1 < text_.size() ? text_[at + 1] : '\n';
    if (opens(c)) {
      if (last_word_ == "as" && as_depth_ == none) as_depth_ = depth_;
      ++depth_;
    } else if (closes(c)) {
      if (depth_ > 0) --depth_;
      if (depth_ == as_depth_) as_depth_ = none;
    } else if (c == ':' && next == '=') {
      bind(last_word_, std::nullopt);
      return at + 2;
    } else if (c == '=' && next == '=') {
      return at + 2;
    } else if (depth_ == 0) {
      read_sign_of_statement(at);
    }
    if (!is_gap(c)) last_word_ = {};
    return at + 1;
  }

  void read_sign_of_statement(std::size_t at) {
    // Keywords whose line may run several times, or not at all.
    constexpr std::array<std::string_view, 12> heads{"if",     "elif",    "else", "for", "while", "try",
                                                     "except", "finally", "with", "def", "class", "case"};
    const char c = text_[at];
    if (c == '\n' || c == ';') {
      const bool is_constant = c == ';' ? is_constant_ : is_at_margin(at + 1);
      end_statement(at);
      begin_statement(is_constant);
    } else if (c == ':' && is_one_of(heads, keyword_)) {
      end_statement(at);
      begin_statement(false);
    } else if (c == ':' && first_colon_ == none && equals_.empty()) {
      first_colon_ = at;
    } else if (c == '=') {
      const std::string_view before = text_.substr(at < 2 ? 0 : at - 2, at < 2 ? at : 2);
      const bool is_shift = before == "<<" || before == ">>";
      const bool compares = before.ends_with('!') || before.ends_with('<') || before.ends_with('>');
      if (is_shift || !compares) equals_.push_back(at);
    }
  }

  void end_statement(std::size_t end) {
    constexpr std::array<std::string_view, 6> all{"import", "from", "global", "nonlocal", "del", "case"};
    if (begin_ == none || begin_ >= end) return;
    if (!equals_.empty()) {
      assign(end);
    } else if (keyword_ == "for" && in_ != none) {
      bind_targets(text_.substr(begin_ + 3, in_ - begin_ - 3), false);
    } else if (is_one_of(all, keyword_)) {
      const std::size_t first = begin_ + keyword_.size();
      bind_targets(text_.substr(first, end - first), keyword_ == "import" || keyword_ == "from");
    }
  }

  void assign(std::size_t end) {
    const std::size_t last = equals_.back();
    const std::string_view targets = stripped(text_.substr(begin_, std::min(first_colon_, last) - begin_));
    const bool is_name =
        !targets.empty() && begins_name(targets[0]) && name_at(targets, 0) == targets && targets.find('.') == none;
    if (!is_name || !is_constant_ || equals_.size() > 1) return bind_targets(targets, false);
    std::optional<std::string> value = literal_of(text_.substr(last + 1, end - last - 1));
    if (value && value->size() > longest_value) value.reset();
    bind(targets, value);
  }

  /// Binds the names in a list of targets, such as `a, b.c, d[0]`, to values that are not known.
  void bind_targets(std::string_view targets, bool is_import) {
    std::size_t subscripts = 0;
    bool follows_value = false;
    for (std::size_t i = 0; i < targets.size();) {
      const std::size_t inert = end_of_inert(targets, i);
      if (inert > i) {
        i = inert;
      } else if (goes_on_in_name(targets[i])) {
        const std::string_view name = name_at(targets, i);
        if (subscripts == 0) bind_target(name, is_import);
        follows_value = true;
        i += name.size();
      } else {
        if (opens(targets[i]) && (subscripts > 0 || follows_value)) ++subscripts;
        if (closes(targets[i]) && subscripts > 0) --subscripts;
        if (!is_gap(targets[i])) follows_value = closes(targets[i]);
        ++i;
      }
    }
  }

  void bind_target(std::string_view name, bool is_import) {
    const std::size_t dot = name.rfind('.');
    if (dot == none || is_import) {
      bind(name.substr(0, name.find('.')), std::nullopt);
    } else if (name.substr(0, dot) != "self") {
      attributes_.emplace(name.substr(dot + 1));
    }
  }

  std::string_view text_;
  Values& values_;
  Attributes& attributes_;
  std::size_t depth_ = 0;
  std::size_t as_depth_ = none;  ///< nesting depth of the bracket after `as`
  // Offsets in the statement, outside of brackets: its beginning, first colon, `in`, and signs of assignment.
  std::size_t begin_ = none, first_colon_ = none, in_ = none;
  std::vector<std::size_t> equals_;
  std::string_view keyword_, last_word_;
  bool is_constant_ = true;  ///< runs once, and always
};

/// A bracket that is open.
struct Bracket {
  std::size_t call;      ///< index of the call; npos for other brackets
  std::size_t argument;  ///< the offset at which its current argument begins
};

}  // namespace

std::vector<PythonCall> python_calls(std::string_view text) {
  constexpr std::size_t none = std::string_view::npos;
  std::vector<PythonCall> calls;
  std::vector<Bracket> open;  // the innermost last
  std::size_t deeper = 0;     // brackets that are open within those
  std::size_t end_of_deeper = 0;
  std::string_view last_word;
  const auto end_argument = [&](std::size_t end) {
    if (deeper > 0 || open.empty() || open.back().call == none) return;
    add_argument(text, open.back().argument, end, end_of_deeper > open.back().argument, calls[open.back().call]);
    open.back().argument = end + 1;
  };
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t inert = end_of_inert(text, i);
    const char c = text[i];
    if (inert > i) {
      i = inert;
    } else if (goes_on_in_name(c)) {
      const std::string_view name = name_at(text, i);
      i += name.size();
      const bool is_call = begins_name(name[0]) && text.substr(i, 1) == "(" && last_word != "def" && last_word != "class";
      last_word = name;
      if (!is_call || open.size() == deepest) continue;
      calls.push_back({.function = std::string(name), .arguments = {}});
      open.push_back({.call = calls.size() - 1, .argument = ++i});
    } else {
      if (opens(c) && open.size() < deepest) {
        open.push_back({.call = none, .argument = i + 1});
      } else if (opens(c)) {
        ++deeper;
        end_of_deeper = i + 1;
      }
      if (c == ',' || closes(c)) end_argument(i);
      if (closes(c) && deeper > 0) {
        --deeper;
      } else if (closes(c) && !open.empty()) {
        open.pop_back();
      }
      if (!is_gap(c)) last_word = {};
      ++i;
    }
  }
  const auto unclosed = std::find_if(open.begin(), open.end(), [](const Bracket& each) { return each.call != none; });
  if (unclosed != open.end()) calls.erase(calls.begin() + static_cast<std::ptrdiff_t>(unclosed->call), calls.end());
  return calls;
}

PythonNames::PythonNames(std::string_view program) { Bindings(program, values_, attributes_).read(); }

std::optional<std::string> PythonNames::literal(std::string_view expression) const {
  if (std::optional<std::string> written = literal_of(expression)) return written;
  const auto name = values_.find(without_comments(expression));
  return name == values_.end() ? std::nullopt : name->second;
}

}  // namespace ddl
