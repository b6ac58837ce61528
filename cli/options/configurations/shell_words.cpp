#include "cli/options/configurations/shell_words.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "cli/options/configurations/shell_tests.hpp"
#include "core/error.hpp"

namespace ddl {
namespace {

constexpr std::string_view word_ends = " \t\r\n;&|()<>";

/// A variable that the batch system sets, and the directive options that determine the variable's value.
struct JobVariable {
  std::string_view variable;
  std::array<std::string_view, 3> options;
};
constexpr std::array<JobVariable, 7> job_variables{{
    {"SLURM_NNODES", {"--nodes", "-N", ""}},
    {"SLURM_JOB_NUM_NODES", {"--nodes", "-N", ""}},
    {"SLURM_GPUS_ON_NODE", {"--gpus-per-node", "--gres", ""}},
    {"SLURM_GPUS_PER_NODE", {"--gpus-per-node", "", ""}},
    {"SLURM_NTASKS_PER_NODE", {"--ntasks-per-node", "", ""}},
    {"SLURM_TASKS_PER_NODE", {"--ntasks-per-node", "", ""}},
    {"SLURM_NTASKS", {"--ntasks", "-n", ""}},
}};

/// Returns the number at the end of a word, such as `8` in `--gres=gpu:a100:8`.
std::optional<PlacedText> last_number(const PlacedText& word) {
  std::size_t from = word.text.size();
  while (from > 0 && is_shell_digit(word.text[from - 1])) --from;
  if (from == word.text.size()) return std::nullopt;
  return word.part(from);
}

}  // namespace

std::optional<PlacedText> directive_value(const ShellScript& script, const std::string& name) {
  for (const JobVariable& each : job_variables) {
    if (each.variable != name) continue;
    for (const ScriptDirective& directive : script.directives) {
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

bool is_of_launchers(std::string_view name) {
  constexpr std::array<std::string_view, 10> begins{"SLURM", "PBS",  "LSB_",  "OMPI_", "PMI_",
                                                    "PJM_",  "RANK", "WORLD", "NODE",  "MASTER_"};
  return std::ranges::any_of(begins, [&](std::string_view begin) { return name.starts_with(begin); }) ||
         name == "LOCAL_RANK" || name == "HOSTNAME" || name == "HOME" || name == "USER" || name == "PATH" || name == "PWD" ||
         name == "CUDA_VISIBLE_DEVICES";
}

void ShellWords::put(ShellWordList& words, char c, ByteOrigin origin) {
  if (++state_.expanded > most_expanded_bytes) {
    throw state_.error(origin, fmt::format("the words of the script exceed {} bytes", most_expanded_bytes),
                       "variables that refer to each other may double at each step");
  }
  begin(words, origin);
  words.current.add(c, origin);
}

void ShellWords::begin(ShellWordList& words, ByteOrigin origin) {
  if (!words.has_current) words.current.start = origin;
  words.has_current = true;
}

void ShellWords::put_text(ShellWordList& words, const PlacedText& text, bool splits) {
  if (!splits) begin(words, text.origin());
  for (std::size_t i = 0; i < text.text.size(); ++i) {
    const char c = text.text[i];
    // Unknown text, such as `$NAME`, is not split into words at its spaces.
    if (splits && separators_.find(c) != std::string::npos && text.origins[i].certainty != Certainty::outside) {
      words.end();
    } else {
      put(words, c, text.origins[i]);
    }
  }
}

void ShellWords::put_unknown(ShellWordList& words, std::size_t from, std::size_t to) {
  constexpr std::size_t most_quoted = 100;
  begin(words, origin(from));
  for (std::size_t i = from; i < std::min({to, from + most_quoted, text_.size()}); ++i) {
    ByteOrigin place = origin(i);
    place.certainty = Certainty::outside;
    put(words, text_[i], place);
  }
}

void ShellWords::put_number(ShellWordList& words, std::int64_t number, std::size_t from) {
  for (const char c : fmt::format("{}", number)) put(words, c, origin(from));
}

void ShellWords::skip_blanks() {
  while (true) {
    while (is_shell_blank(here())) ++at_;
    if (stands("\\\n")) {
      at_ += 2;
    } else if (stands("\\\r\n")) {
      at_ += 3;
    } else {
      return;
    }
  }
}

void ShellWords::skip_line() {
  while (at_ < text_.size() && text_[at_] != '\n') ++at_;
}

void ShellWords::read_word(ShellWordList& words, bool splits) {
  while (at_ < text_.size()) {
    const char c = here();
    if (word_ends.find(c) != std::string_view::npos) return;
    if (c == '\\') {
      if (stands("\\\n") || stands("\\\r\n")) return;
      ++at_;
      if (at_ < text_.size()) {
        put(words, here(), origin(at_));
        ++at_;
      }
    } else if (c == '\'') {
      read_single_quotes(words, false);
    } else if (stands("$'")) {
      ++at_;
      read_single_quotes(words, true);
    } else if (c == '"') {
      read_double_quotes(words);
    } else if (c == '$' || c == '`') {
      read_expansion(words, splits, 0);
    } else {
      put(words, c, origin(at_));
      ++at_;
    }
  }
}

std::vector<PlacedText> ShellWords::read_array() {
  ShellWordList words;
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
  return std::move(words.done);
}

PlacedText ShellWords::expanded(ShellState& state, const PlacedText& text) {
  ShellWords reader(state, text);
  ShellWordList words;
  reader.in_quotes_ = true;
  reader.begin(words, text.origin());
  while (!reader.is_at_end()) {
    if (reader.here() == '\\' && reader.at_ + 1 < text.text.size()) {
      ++reader.at_;
      if (reader.here() != '\n') reader.put(words, reader.here(), reader.origin(reader.at_));
      ++reader.at_;
    } else if (reader.here() == '$' || reader.here() == '`') {
      reader.read_expansion(words, false, 0);
    } else {
      reader.put(words, reader.here(), reader.origin(reader.at_));
      ++reader.at_;
    }
  }
  return std::move(words.current);
}

void ShellWords::read_single_quotes(ShellWordList& words, bool escapes) {
  const std::size_t open = at_++;
  begin(words, origin(at_));
  while (at_ < text_.size() && here() != '\'') {
    if (escapes && here() == '\\' && at_ + 1 < text_.size()) ++at_;
    put(words, here(), origin(at_));
    ++at_;
  }
  if (at_ >= text_.size()) throw state_.error(origin(open), "this quote is not closed", "add a ' at its end");
  ++at_;
}

void ShellWords::read_double_quotes(ShellWordList& words) {
  const std::size_t open = at_++;
  const bool had_word = words.has_current;
  begin(words, origin(at_));
  has_empty_list_ = false;
  const bool was_in_quotes = std::exchange(in_quotes_, true);
  while (at_ < text_.size() && here() != '"') {
    if (here() == '\\' && at_ + 1 < text_.size()) {
      ++at_;
      if (here() == '\n') {
        ++at_;
        continue;
      }
      put(words, here(), origin(at_));
      ++at_;
    } else if (here() == '$' || here() == '`') {
      read_expansion(words, false, 0);
    } else {
      put(words, here(), origin(at_));
      ++at_;
    }
  }
  in_quotes_ = was_in_quotes;
  // An empty array in quotes, "${A[@]}", adds no word.
  if (has_empty_list_ && !had_word && words.current.text.empty()) words.has_current = false;
  if (at_ >= text_.size()) throw state_.error(origin(open), "this quote is not closed", "add a \" at its end");
  ++at_;
}

std::size_t ShellWords::closing(std::size_t from, char open, char close) const {
  int depth = 1;
  for (std::size_t i = from; i < text_.size(); ++i) {
    if (text_[i] == open) ++depth;
    if (text_[i] == close && --depth == 0) return i + 1;
  }
  return text_.size();
}

std::size_t ShellWords::closing_command(std::size_t from) const {
  int depth = 1;
  char quote = 0;
  for (std::size_t i = from; i < text_.size(); ++i) {
    const char c = text_[i];
    if (c == '\\' && quote != '\'') {
      ++i;
    } else if (quote != 0) {
      if (c == quote) quote = 0;
    } else if (c == '\'' || c == '"') {
      quote = c;
    } else if (c == '(') {
      ++depth;
    } else if (c == ')' && --depth == 0) {
      return i + 1;
    }
  }
  return closing(from, '(', ')');  // a quote in a comment has no end
}

void ShellWords::put_arithmetic(ShellWordList& words, std::string_view text, std::size_t from) {
  std::optional<PlacedText> unset;  // the first variable that the script does not set, or its unknown value
  const auto number = [&](const std::string& name) -> std::optional<std::int64_t> {
    const std::optional<PlacedText> value = value_of(name);
    const std::optional<std::int64_t> result = value ? shell_number(*value) : std::nullopt;
    if (!result && !unset && (!value || value->text.starts_with('$'))) {
      unset = value ? *value : PlacedText{};
      for (const char c : value ? std::string() : "$" + name) unset->add(c, origin(from));
      unset->mark(Certainty::outside);
    }
    return result;
  };
  const auto value = expands_ ? shell_arithmetic(text, number) : std::nullopt;
  if (expands_ && !value) forget_changed(text, from);
  if (value) {
    put_number(words, *value, from);
  } else if (unset) {
    put_text(words, *unset, false);
  } else {
    put_unknown(words, from, at_);
  }
}

void ShellWords::read_expansion(ShellWordList& words, bool splits, int depth) {
  const std::size_t from = at_;
  if (here() == '`') {
    read_command_output(words, splits);
  } else if (stands("$((")) {
    at_ = closing(at_ + 3, '(', ')');
    const std::size_t inner = at_ - from > 4 ? at_ - from - 4 : 0;
    if (here() == ')') ++at_;
    put_arithmetic(words, text_.substr(from + 3, inner), from);
  } else if (stands("$[")) {  // the older form of $((…)), which bash still evaluates
    at_ = closing(at_ + 2, '[', ']');
    put_arithmetic(words, text_.substr(from + 2, at_ - from > 3 ? at_ - from - 3 : 0), from);
  } else if (stands("$(")) {
    read_command_output(words, splits);
  } else if (stands("${")) {
    read_braces(words, splits, depth);
  } else {
    ++at_;
    const std::size_t name_at = at_;
    if (begins_shell_name(here())) {
      while (goes_on_in_shell_name(here())) ++at_;
      put_variable(words, std::string(text_.substr(name_at, at_ - name_at)), splits, from);
    } else if (is_shell_digit(here())) {
      ++at_;
      put_variable(words, std::string(1, text_[name_at]), splits, from);
    } else if ((here() == '@' || here() == '*') && positions() != nullptr) {
      const bool is_one = here() == '*';
      ++at_;
      put_all(words, *positions(), splits, is_one);
    } else if (std::string_view("@*#?$!-").find(here()) != std::string_view::npos && at_ < text_.size()) {
      ++at_;
      put_unknown(words, from, at_);
    } else {
      put(words, '$', origin(from));
    }
  }
}

void ShellWords::read_braces(ShellWordList& words, bool splits, int depth) {
  const std::size_t from = at_;
  const std::size_t end = closing(at_ + 2, '{', '}');
  at_ += 2;
  const bool counts = here() == '#';
  if (counts) ++at_;
  const std::size_t name_at = at_;
  if (here() == '@' || here() == '*') ++at_;
  while (at_ < end && goes_on_in_shell_name(here())) ++at_;
  const std::string name(text_.substr(name_at, at_ - name_at));
  if (name == "BASH_SOURCE" && stands("[0]")) at_ += 3;
  const std::string_view rest = text_.substr(at_, end > at_ ? end - at_ - 1 : 0);
  const std::size_t rest_at = at_;
  at_ = end;
  const ShellVariable* variable = state_.variables.find(name);
  if (name.empty() || !expands_) return put_unknown(words, from, end);
  if (counts) {
    const bool is_list = rest == "[@]" || rest == "[*]";
    if (!is_list || variable == nullptr || !variable->is_array) return put_unknown(words, from, end);
    return put_number(words, static_cast<std::int64_t>(variable->words.size()), from);
  }
  if (name == "@" || name == "*") {
    if (positions() == nullptr) return put_unknown(words, from, end);
    return put_all(words, *positions(), splits, name == "*");
  }
  if (rest.empty()) {
    put_variable(words, name, splits, from);
  } else if (rest == "[@]" || rest == "[*]") {
    if (variable == nullptr) return put_unknown(words, from, end);
    put_all(words, variable->words, splits, rest == "[*]");
  } else if (rest.starts_with(":-") || rest.starts_with("-") || rest.starts_with(":=") || rest.starts_with("=")) {
    const std::optional<PlacedText> value = value_of(name);
    const bool is_empty = value && value->text.empty() && rest.front() == ':';
    if (value && !is_empty) return put_text(words, *value, splits);
    const std::size_t default_at = rest_at + (rest.front() == ':' ? 2 : 1);
    if (rest[default_at - rest_at - 1] == '=') assign_default(name, depth, default_at, end);
    put_default(words, splits, depth, default_at, end);
  } else if (rest.starts_with(":?") || rest.starts_with("?")) {
    put_variable(words, name, splits, from);
  } else if (rest.starts_with(":+") || rest.starts_with("+")) {
    const std::optional<PlacedText> value = value_of(name);
    if (value && !value->is_known()) return put_unknown(words, from, end);
    if (value && !value->text.empty()) put_default(words, splits, depth, rest_at + (rest.front() == ':' ? 2 : 1), end);
  } else {
    put_changed(words, name, rest, splits, from, end);
  }
}

void ShellWords::put_changed(ShellWordList& words, const std::string& name, std::string_view change, bool splits,
                             std::size_t from, std::size_t end) {
  const ShellVariable* variable = state_.variables.find(name);
  if (change.starts_with('[') && change.ends_with(']') && variable != nullptr) {
    const auto index = shell_number({.text = std::string(change.substr(1, change.size() - 2))});
    if (index && *index >= 0 && static_cast<std::size_t>(*index) < variable->words.size())
      return put_text(words, variable->words[static_cast<std::size_t>(*index)], splits);
  }
  const std::optional<PlacedText> value = value_of(name);
  if (!value || !value->is_known()) return put_unknown(words, from, end);
  PlacedText text = *value;
  if (change == ",," || change == "^^") {
    for (char& c : text.text) {
      if (c >= 'A' && c <= 'Z' && change == ",,") c = static_cast<char>(c - 'A' + 'a');
      if (c >= 'a' && c <= 'z' && change == "^^") c = static_cast<char>(c - 'a' + 'A');
    }
  } else if (change.starts_with("##*") && change.size() == 4) {
    text = text.part(text.text.rfind(change.back()) + 1);
  } else if (change.starts_with("#*") && change.size() == 3) {
    text = text.part(text.text.find(change.back()) + 1);
  } else if (change.starts_with('%') && change.ends_with('*') && change.size() <= 4 && change[change.size() - 2] != '%') {
    // `%/*` removes the last step of a path, `%%/*` all steps but the first one.
    const char mark = change[change.size() - 2];
    text = text.part(0, change.size() == 3 ? text.text.rfind(mark) : text.text.find(mark));
  } else if (change.starts_with('%') && change.find_first_of("*?[$%", 1) == std::string_view::npos) {
    if (text.text.ends_with(change.substr(1))) text = text.part(0, text.text.size() - change.size() + 1);
  } else {
    return put_unknown(words, from, end);
  }
  put_text(words, text, splits);
}

void ShellWords::put_default(ShellWordList& words, bool splits, int depth, std::size_t from, std::size_t end) {
  if (depth > most_shell_nesting) {
    at_ = end;
    return put_unknown(words, from, end);
  }
  at_ = from;
  while (at_ + 1 < end) {
    const char c = here();
    if (c == '$' || c == '`') {
      read_expansion(words, splits, depth + 1);
      at_ = std::min(at_, end);
    } else {
      if (c != '"' && c != '\'') {
        if (splits && is_shell_blank(c)) {
          words.end();
        } else {
          put(words, c, origin(at_));
        }
      }
      ++at_;
    }
  }
  at_ = end;
}

/// Performs the assignment in `${NAME:=default}`.
void ShellWords::assign_default(const std::string& name, int depth, std::size_t from, std::size_t end) {
  if (!begins_shell_name(name.front())) return;
  ShellWordList list;
  begin(list, origin(from));
  put_default(list, false, depth, from, end);
  state_.script.assigned.push_back({.name = name, .words = {list.current}, .from = state_.script.commands.size()});
  state_.variables.assign(name, {.words = {std::move(list.current)}});
}

const std::vector<PlacedText>* ShellWords::positions() const {
  return expands_ && state_.positions.size() > 1 ? &state_.positions.back() : nullptr;
}

std::optional<PlacedText> ShellWords::value_of(const std::string& name) const {
  if (!expands_) return std::nullopt;
  if (is_shell_digit(name.front())) {
    const auto index = shell_number({.text = name});
    if (index && *index == 0) return own_name(name, origin(at_ - 1));
    if (!index || *index < 1 || state_.positions.empty()) return std::nullopt;
    const std::vector<PlacedText>& all = state_.positions.back();
    const auto at = static_cast<std::size_t>(*index);
    if (at <= all.size()) return all[at - 1];
    return state_.positions.size() > 1 ? std::optional<PlacedText>(PlacedText{}) : std::nullopt;
  }
  const ShellVariable* variable = state_.variables.find(name);
  if (variable == nullptr) {
    const std::optional<PlacedText> own = own_name(name, origin(at_ - 1));
    return own ? own : directive_value(state_.script, name);
  }
  return variable->words.empty() ? PlacedText{} : variable->words.front();
}

void ShellWords::put_variable(ShellWordList& words, const std::string& name, bool splits, std::size_t from) {
  const std::optional<PlacedText> value = value_of(name);
  if (!value) return put_unknown(words, from, std::max(at_, from + 1));
  // Outside of quotes, an empty value adds no word.
  if (!value->text.empty() || !splits) put_text(words, *value, splits);
}

void ShellWords::put_all(ShellWordList& words, const std::vector<PlacedText>& values, bool splits, bool is_one_word) {
  const bool is_text = in_quotes_ && is_one_word;
  has_empty_list_ = has_empty_list_ || (values.empty() && !is_text);
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (i > 0) {
      if (is_text) {
        PlacedText blank;
        blank.add_blank(values[i]);
        for (const char c : separators_.substr(0, 1)) put(words, c, blank.origin());
      } else {
        words.end();
      }
    }
    put_text(words, values[i], splits);
  }
}

}  // namespace ddl
