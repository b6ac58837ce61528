#include "cli/options/configurations/shell_script.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "core/error.hpp"

namespace ddl {
namespace {

bool begins_name(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool goes_on_in_name(char c) { return begins_name(c) || is_digit(c); }
bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

template <std::size_t count>
bool is_among(std::string_view word, const std::array<std::string_view, count>& words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

constexpr std::array<std::string_view, 5> opening_words{"if", "for", "while", "until", "case"};
constexpr std::array<std::string_view, 3> closing_words{"fi", "done", "esac"};
constexpr std::array<std::string_view, 5> inner_words{"then", "else", "elif", "do", "!"};
constexpr std::array<std::string_view, 5> declaring_words{"export", "declare", "local", "readonly", "typeset"};

/// Whether `$(…)` is the folder of the script itself: `$(dirname "$0")`, or `$(cd "$(dirname "$0")" && pwd)`.
bool is_own_folder(std::string_view expansion, int depth) {
  constexpr int most_folders = 2;
  if (!expansion.starts_with("$(") || !expansion.ends_with(')') || depth == most_folders) return false;
  std::string command;
  for (const char c : expansion.substr(2, expansion.size() - 3)) {
    if (c != '"') command += c;
  }
  std::string_view rest = command;
  const auto takes = [&](std::string_view begin) {
    if (!rest.starts_with(begin)) return false;
    rest.remove_prefix(begin.size());
    if (rest.starts_with("-- ")) rest.remove_prefix(3);
    return true;
  };
  if (takes("dirname ")) return rest == "$0" || rest == "$BASH_SOURCE" || rest == "${BASH_SOURCE[0]}";
  if (!takes("cd ")) return false;
  const std::size_t end = rest.find(" && pwd");
  return end != std::string_view::npos && is_own_folder(rest.substr(0, end), depth + 1);
}

/// Values of a Slurm job that its directives say: the variable, and the directive's option.
struct SlurmVariable {
  std::string_view variable;
  std::array<std::string_view, 3> options;
};
constexpr std::array<SlurmVariable, 5> slurm_variables{{
    {"SLURM_NNODES", {"--nodes", "-N", ""}},
    {"SLURM_JOB_NUM_NODES", {"--nodes", "-N", ""}},
    {"SLURM_GPUS_ON_NODE", {"--gpus-per-node", "--gres", ""}},
    {"SLURM_GPUS_PER_NODE", {"--gpus-per-node", "", ""}},
    {"SLURM_NTASKS_PER_NODE", {"--ntasks-per-node", "", ""}},
}};

/// A whole number of `$((…))`; nothing if it is unknown.
class Arithmetic {
 public:
  using Lookup = std::optional<std::int64_t> (*)(const void* context, const std::string& name);
  Arithmetic(std::string_view text, const void* context, Lookup lookup) : text_(text), context_(context), lookup_(lookup) {}

  std::optional<std::int64_t> value() {
    const auto result = sum(0);
    skip();
    return at_ == text_.size() ? result : std::nullopt;
  }

 private:
  void skip() {
    while (at_ < text_.size() && (is_blank(text_[at_]) || text_[at_] == '\n')) ++at_;
  }
  bool take(char c) {
    skip();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  std::optional<std::int64_t> sum(int depth) {
    auto left = product(depth);
    while (left) {
      const bool adds = take('+');
      if (!adds && !take('-')) break;
      const auto right = product(depth);
      std::int64_t result = 0;
      if (!right || (adds ? __builtin_add_overflow(*left, *right, &result) : __builtin_sub_overflow(*left, *right, &result)))
        return std::nullopt;
      left = result;
    }
    return left;
  }

  std::optional<std::int64_t> product(int depth) {
    auto left = factor(depth);
    while (left) {
      const char sign = take('*') ? '*' : take('/') ? '/' : take('%') ? '%' : '\0';
      if (sign == '\0') break;
      const auto right = factor(depth);
      std::int64_t result = 0;
      if (!right) return std::nullopt;
      if (sign == '*') {
        if (__builtin_mul_overflow(*left, *right, &result)) return std::nullopt;
      } else {
        // The smallest number over -1 is no number.
        if (*right == 0 || *right == -1) return std::nullopt;
        result = sign == '/' ? *left / *right : *left % *right;
      }
      left = result;
    }
    return left;
  }

  std::optional<std::int64_t> factor(int depth) {
    if (depth > most_shell_nesting) return std::nullopt;
    if (take('(')) {
      const auto inner = sum(depth + 1);
      return take(')') ? inner : std::nullopt;
    }
    skip();
    const bool in_braces = text_.substr(at_).starts_with("${");
    if (in_braces) {
      at_ += 2;
    } else if (at_ < text_.size() && text_[at_] == '$') {
      ++at_;
    }
    const std::size_t from = at_;
    while (at_ < text_.size() && goes_on_in_name(text_[at_])) ++at_;
    const std::string word(text_.substr(from, at_ - from));
    if (in_braces && !take('}')) return std::nullopt;
    if (word.empty()) return std::nullopt;
    if (!is_digit(word.front())) return lookup_(context_, word);
    if (word.size() > 18 || !std::all_of(word.begin(), word.end(), is_digit)) return std::nullopt;
    return std::stoll(word);
  }

  std::string_view text_;
  const void* context_;
  Lookup lookup_;
  std::size_t at_ = 0;
};

/// The value of a variable: one text, or the words of an array.
struct Variable {
  std::vector<PlacedText> words;
  bool is_array = false;
};

class ScriptReader {
 public:
  ScriptReader(const std::string& text, const std::string& origin) {
    script_.source = std::make_shared<const SourceText>(text, origin);
    text_ = script_.source->text();
  }

  ShellScript read() {
    while (at_ < text_.size()) read_command();
    return std::move(script_);
  }

 private:
  /// Words that are being made: the last one is not at its end yet.
  struct Words {
    std::vector<PlacedText> done{};
    PlacedText current{};
    bool has_current = false;

    void end() {
      if (has_current) done.push_back(std::move(current));
      current = {};
      has_current = false;
    }
  };

  [[nodiscard]] char here() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  [[nodiscard]] bool stands(std::string_view word) const { return text_.substr(at_).starts_with(word); }

  void put(Words& words, char c, std::size_t offset) {
    if (++expanded_ > most_expanded_bytes) {
      throw script_.source->error(offset, fmt::format("the words of the script are more than {} bytes", most_expanded_bytes),
                                  "variables that refer to each other may double at each step");
    }
    begin(words, offset);
    words.current.text += c;
    words.current.offsets.push_back(static_cast<std::uint32_t>(offset));
  }
  static void begin(Words& words, std::size_t offset) {
    if (!words.has_current) words.current.start = static_cast<std::uint32_t>(offset);
    words.has_current = true;
  }
  void put_text(Words& words, const PlacedText& text, bool splits) {
    if (!splits) begin(words, text.offset());
    for (std::size_t i = 0; i < text.text.size(); ++i) {
      const char c = text.text[i];
      if (splits && (is_blank(c) || c == '\n')) {
        words.end();
      } else {
        put(words, c, text.offsets[i]);
        words.current.is_known = words.current.is_known && text.is_known;
      }
    }
    // What is unknown may be anything, but is a word.
    if (!text.is_known) {
      begin(words, text.offset());
      words.current.is_known = false;
    }
  }
  void put_unknown(Words& words, std::size_t from, std::size_t to) {
    begin(words, from);
    for (std::size_t i = from; i < std::min(to, from + 100) && i < text_.size(); ++i) put(words, text_[i], i);
    words.current.is_known = false;
  }

  void skip_blanks() {
    while (true) {
      while (is_blank(here())) ++at_;
      if (stands("\\\n")) {
        at_ += 2;
      } else if (stands("\\\r\n")) {
        at_ += 3;
      } else {
        return;
      }
    }
  }
  void skip_line() {
    while (at_ < text_.size() && text_[at_] != '\n') ++at_;
  }

  void read_command() {
    skip_blanks();
    if (stands("#SBATCH")) {
      at_ += 7;
      ScriptCommand directive{.words = read_words(false).done};
      if (!directive.words.empty()) script_.directives.push_back(std::move(directive));
      return;
    }
    Words words = read_words(true);
    std::vector<PlacedText>& all = words.done;
    while (!all.empty() && all.front().is_known) {
      const std::string_view first = all.front().text;
      if (is_among(first, opening_words)) {
        ++depth_;
        all.clear();
      } else if (is_among(first, closing_words)) {
        depth_ = std::max(depth_ - 1, 0);
        all.clear();
      } else if (is_among(first, inner_words)) {
        all.erase(all.begin());
      } else {
        break;
      }
    }
    if (!all.empty()) script_.commands.push_back({.words = std::move(all), .is_conditional = depth_ > 0});
  }

  /// Reads up to the end of a command; assignments before its first word are done.
  Words read_words(bool may_assign) {
    Words words;
    bool in_head = may_assign;  // assignments may follow
    while (at_ < text_.size()) {
      skip_blanks();
      const char c = here();
      if (c == '\n' || c == ';' || c == '&' || c == '|' || c == ')' || c == '(') {
        ++at_;
        if (c == '\n') skip_documents();
        break;
      }
      if (at_ >= text_.size()) break;
      if (c == '#') {
        skip_line();
        continue;
      }
      if (c == '>' || c == '<') {
        skip_redirection();
        continue;
      }
      if (in_head && assigns(words)) continue;
      const std::size_t before = words.done.size();
      const std::size_t from = at_;
      read_word(words);
      words.end();
      if (at_ == from) ++at_;  // whatever it is, it is passed
      if (words.done.size() == before) continue;
      const std::string& word = words.done.back().text;
      const bool declares = before == 0 && is_among(std::string_view(word), declaring_words);
      const bool is_inner = before == 0 && is_among(std::string_view(word), inner_words);
      in_head = in_head && (declares || is_inner || (word.starts_with('-') && declared_));
      declared_ = declares || (declared_ && in_head);
    }
    declared_ = false;
    return words;
  }

  /// `> file`, `2>&1`, `<<EOF`, `<<< word`.
  void skip_redirection() {
    if (stands("<<<")) {
      at_ += 3;
    } else if (stands("<<")) {
      at_ += 2;
      if (here() == '-') ++at_;
      skip_blanks();
      std::string end;
      while (at_ < text_.size() && !is_blank(here()) && here() != '\n' && here() != ';' && here() != '>' && here() != '|') {
        if (here() != '\'' && here() != '"' && here() != '\\') end += here();
        ++at_;
      }
      if (!end.empty()) documents_.push_back(std::move(end));
      return;
    } else {
      while (here() == '>' || here() == '<' || here() == '&') ++at_;
    }
    skip_blanks();
    Words ignored;
    if (here() != '\n') read_word(ignored);
  }

  /// The lines of `<<EOF`, which are text.
  void skip_documents() {
    for (const std::string& end : documents_) {
      while (at_ < text_.size()) {
        const std::size_t from = at_;
        skip_line();
        std::string_view line = text_.substr(from, at_ - from);
        if (at_ < text_.size()) ++at_;
        while (!line.empty() && is_blank(line.front())) line.remove_prefix(1);
        while (!line.empty() && is_blank(line.back())) line.remove_suffix(1);
        if (line == end) break;
      }
    }
    documents_.clear();
  }

  /// Whether `NAME=value`, `NAME+=value` or an array of it stands here; then it is read.
  bool assigns(const Words& so_far) {
    static_cast<void>(so_far);
    if (!begins_name(here())) return false;
    std::size_t end = at_;
    while (end < text_.size() && goes_on_in_name(text_[end])) ++end;
    const bool adds = text_.substr(end).starts_with("+=");
    if (!adds && (end >= text_.size() || text_[end] != '=')) return false;
    const std::string name(text_.substr(at_, end - at_));
    at_ = end + (adds ? 2 : 1);
    Variable value;
    if (here() == '(') {
      ++at_;
      value = read_array();
    } else {
      Words words;
      begin(words, at_);
      splits_ = false;
      read_word(words);
      splits_ = true;
      words.end();
      value.words = std::move(words.done);
    }
    for (const PlacedText& word : value.words) script_.assigned.push_back(word);
    assign(name, std::move(value), adds);
    return true;
  }

  Variable read_array() {
    Words words;
    while (at_ < text_.size() && here() != ')') {
      skip_blanks();
      if (here() == '\n') {
        ++at_;
      } else if (here() == '#') {
        skip_line();
      } else if (here() != ')' && at_ < text_.size()) {
        const std::size_t from = at_;
        read_word(words);
        words.end();
        if (at_ == from) ++at_;
      }
    }
    if (at_ < text_.size()) ++at_;
    return {.words = std::move(words.done), .is_array = true};
  }

  void assign(const std::string& name, Variable value, bool adds) {
    Variable& variable = variables_[name];
    if (adds && (value.is_array || variable.is_array)) {
      for (PlacedText& word : value.words) variable.words.push_back(std::move(word));
      variable.is_array = true;
      return;
    }
    if (adds && !variable.words.empty() && !value.words.empty()) {
      Words words;
      put_text(words, variable.words.front(), false);
      put_text(words, value.words.front(), false);
      words.end();
      variable.words = std::move(words.done);
      return;
    }
    // Of two values in branches, the one that is used is unknown.
    const bool other = depth_ > 0 && !value.is_array && variable.words.size() == 1 && value.words.size() == 1 &&
                       !variable.words.front().text.empty() && variable.words.front().text != value.words.front().text;
    variable = std::move(value);
    if (other) variable.words.front().is_known = false;
  }

  void read_word(Words& words) {
    while (at_ < text_.size()) {
      const char c = here();
      if (is_blank(c) || c == '\n' || c == ';' || c == '&' || c == '|' || c == '(' || c == ')' || c == '<' || c == '>')
        return;
      if (c == '\\') {
        if (stands("\\\n") || stands("\\\r\n")) return;
        ++at_;
        if (at_ < text_.size()) {
          put(words, here(), at_);
          ++at_;
        }
      } else if (c == '\'') {
        read_single_quotes(words);
      } else if (c == '"') {
        read_double_quotes(words);
      } else if (c == '$' || c == '`') {
        read_expansion(words, splits_, 0);
      } else {
        put(words, c, at_);
        ++at_;
      }
    }
  }

  void read_single_quotes(Words& words) {
    const std::size_t open = at_++;
    begin(words, at_);
    while (at_ < text_.size() && here() != '\'') {
      put(words, here(), at_);
      ++at_;
    }
    if (at_ >= text_.size()) throw script_.source->error(open, "this quote is not closed", "add a ' at its end");
    ++at_;
  }

  void read_double_quotes(Words& words) {
    const std::size_t open = at_++;
    begin(words, at_);
    while (at_ < text_.size() && here() != '"') {
      if (here() == '\\' && at_ + 1 < text_.size()) {
        ++at_;
        if (here() == '\n') {
          ++at_;
          continue;
        }
        put(words, here(), at_);
        ++at_;
      } else if (here() == '$' || here() == '`') {
        read_expansion(words, false, 0);
      } else {
        put(words, here(), at_);
        ++at_;
      }
    }
    if (at_ >= text_.size()) throw script_.source->error(open, "this quote is not closed", "add a \" at its end");
    ++at_;
  }

  /// The place behind the bracket that closes the one before `from`; the end where none does.
  [[nodiscard]] std::size_t closing(std::size_t from, char open, char close) const {
    int depth = 1;
    for (std::size_t i = from; i < text_.size(); ++i) {
      if (text_[i] == open) ++depth;
      if (text_[i] == close && --depth == 0) return i + 1;
    }
    return text_.size();
  }

  void read_expansion(Words& words, bool splits, int depth) {
    const std::size_t from = at_;
    if (here() == '`') {
      const std::size_t end = text_.find('`', at_ + 1);
      at_ = end == std::string_view::npos ? text_.size() : end + 1;
      put_unknown(words, from, at_);
    } else if (stands("$((")) {
      at_ = closing(at_ + 3, '(', ')');
      const std::size_t inner = at_ - from > 4 ? at_ - from - 4 : 0;
      if (here() == ')') ++at_;
      const auto lookup = [](const void* self, const std::string& name) {
        return static_cast<const ScriptReader*>(self)->number_of(name);
      };
      const auto value = Arithmetic(text_.substr(from + 3, inner), this, lookup).value();
      if (!value) return put_unknown(words, from, at_);
      for (const char c : fmt::format("{}", *value)) put(words, c, from);
    } else if (stands("$(")) {
      at_ = closing(at_ + 2, '(', ')');
      // Other files are relative to this one.
      if (is_own_folder(text_.substr(from, at_ - from), 0)) return put(words, '.', from);
      put_unknown(words, from, at_);
    } else if (stands("${")) {
      read_braces(words, splits, depth);
    } else {
      ++at_;
      const std::size_t name_at = at_;
      if (begins_name(here())) {
        while (goes_on_in_name(here())) ++at_;
        put_variable(words, std::string(text_.substr(name_at, at_ - name_at)), splits, false, from);
      } else if (is_digit(here()) || here() == '@' || here() == '*' || here() == '#' || here() == '?' || here() == '$') {
        ++at_;
        put_unknown(words, from, at_);
      } else {
        put(words, '$', from);
      }
    }
  }

  /// `${NAME}`, `${NAME[@]}`, `${NAME:-default}`.
  void read_braces(Words& words, bool splits, int depth) {
    const std::size_t from = at_;
    const std::size_t end = closing(at_ + 2, '{', '}');
    at_ += 2;
    const std::size_t name_at = at_;
    while (at_ < end && goes_on_in_name(here())) ++at_;
    const std::string name(text_.substr(name_at, at_ - name_at));
    const std::string_view rest = text_.substr(at_, end > at_ ? end - at_ - 1 : 0);
    if (name.empty() || is_digit(name.front())) {
      at_ = end;
      // Those of positions may have a default.
      const std::size_t at_default = rest.find('-');
      if (name.empty() || at_default == std::string_view::npos || at_default > 1) return put_unknown(words, from, end);
      return put_default(words, splits, depth, end - 1 - rest.size() + at_default + 1, end);
    }
    if (rest.empty()) {
      put_variable(words, name, splits, false, from);
    } else if (rest == "[@]" || rest == "[*]") {
      put_variable(words, name, splits, true, from);
    } else if (rest.starts_with(":-") || rest.starts_with("-") || rest.starts_with(":=") || rest.starts_with("=")) {
      if (find(name) != nullptr || slurm_value(name)) {
        put_variable(words, name, splits, false, from);
      } else {
        return put_default(words, splits, depth, at_ + (rest.front() == ':' ? 2 : 1), end);
      }
    } else {
      put_unknown(words, from, end);
    }
    at_ = end;
  }

  void put_default(Words& words, bool splits, int depth, std::size_t from, std::size_t end) {
    if (depth > most_shell_nesting) {
      at_ = end;
      return put_unknown(words, from, end);
    }
    at_ = from;
    while (at_ + 1 < end) {
      const char c = here();
      if (c == '$' || c == '`') {
        read_expansion(words, splits, depth + 1);
      } else {
        if (c != '"' && c != '\'') {
          if (splits && is_blank(c)) {
            words.end();
          } else {
            put(words, c, at_);
          }
        }
        ++at_;
      }
    }
    at_ = end;
  }

  [[nodiscard]] const Variable* find(const std::string& name) const {
    const auto found = variables_.find(name);
    return found == variables_.end() ? nullptr : &found->second;
  }

  void put_variable(Words& words, const std::string& name, bool splits, bool all, std::size_t from) {
    const Variable* variable = find(name);
    if (variable == nullptr) {
      if (const auto value = slurm_value(name)) return put_text(words, *value, splits);
      return put_unknown(words, from, at_ > from ? std::max(at_, from + 1) : from + 1 + name.size());
    }
    if (!all || !variable->is_array) {
      if (!variable->words.empty()) put_text(words, variable->words.front(), splits);
      return;
    }
    for (std::size_t i = 0; i < variable->words.size(); ++i) {
      if (i > 0) words.end();
      put_text(words, variable->words[i], false);
    }
  }

  /// What the directives say of a variable of Slurm's.
  [[nodiscard]] std::optional<PlacedText> slurm_value(const std::string& name) const {
    for (const SlurmVariable& each : slurm_variables) {
      if (each.variable != name) continue;
      for (const ScriptCommand& directive : script_.directives) {
        for (std::size_t i = 0; i < directive.words.size(); ++i) {
          const PlacedText& word = directive.words[i];
          for (const std::string_view option : each.options) {
            if (option.empty()) continue;
            if (word.text == option && i + 1 < directive.words.size()) return last_number(directive.words[i + 1]);
            if (word.text.starts_with(std::string(option) + "=")) return last_number(word);
          }
        }
      }
    }
    return std::nullopt;
  }
  /// `8` of `--gres=gpu:a100:8`.
  static std::optional<PlacedText> last_number(const PlacedText& word) {
    std::size_t from = word.text.size();
    while (from > 0 && is_digit(word.text[from - 1])) --from;
    if (from == word.text.size()) return std::nullopt;
    PlacedText number{.text = word.text.substr(from), .offsets = {}, .start = word.start, .is_known = word.is_known};
    number.offsets.assign(word.offsets.begin() + static_cast<std::ptrdiff_t>(from), word.offsets.end());
    return number;
  }

  [[nodiscard]] std::optional<std::int64_t> number_of(const std::string& name) const {
    const Variable* variable = find(name);
    std::optional<PlacedText> value;
    if (variable != nullptr && !variable->words.empty()) {
      value = variable->words.front();
    } else {
      value = slurm_value(name);
    }
    if (!value || !value->is_known || value->text.empty() || value->text.size() > 18 ||
        !std::all_of(value->text.begin(), value->text.end(), is_digit)) {
      return std::nullopt;
    }
    return std::stoll(value->text);
  }

  ShellScript script_;
  std::string_view text_;
  std::size_t at_ = 0, expanded_ = 0;
  int depth_ = 0;
  bool splits_ = true, declared_ = false;
  std::map<std::string, Variable> variables_;
  std::vector<std::string> documents_;
};

}  // namespace

ShellScript read_shell_script(const std::string& text, const std::string& origin) {
  return ScriptReader(text, origin).read();
}

}  // namespace ddl
