#include "cli/options/configurations/shell_reader.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "cli/options/configurations/shell_tests.hpp"
#include "core/error.hpp"
#include "core/find.hpp"

namespace ddl {
namespace {

constexpr std::array<std::string_view, 6> directive_marks{"#SBATCH", "#PBS", "#$ ", "#BSUB", "#PJM", "#QSUB"};
constexpr std::array<std::string_view, 6> directive_systems{"slurm", "pbs", "sge", "lsf", "pjm", "pbs"};

constexpr std::array<std::string_view, 16> reserved_words{"if",     "then",     "elif", "else", "fi",   "for",
                                                          "while",  "until",    "do",   "done", "case", "esac",
                                                          "select", "function", "{",    "}"};

bool ends_command(char c) { return c == '\n' || c == ';' || c == '&' || c == '|' || c == ')' || c == '('; }

}  // namespace

void ShellReader::skip_space() {
  while (!words_.is_at_end()) {
    words_.skip_blanks();
    const char c = words_.here();
    if (c == '\n' || (c == ';' && !words_.stands(";;")) || (c == '&' && !words_.stands("&&"))) {
      words_.go_to(words_.at() == own_.document_line ? own_.after_documents : words_.at() + 1);
    } else if (c == '#' &&
               std::ranges::none_of(directive_marks, [&](std::string_view mark) { return words_.stands(mark); })) {
      words_.skip_line();
    } else {
      return;
    }
  }
}

std::string_view ShellReader::reserved_word() const {
  for (const std::string_view word : reserved_words) {
    if (!words_.stands(word)) continue;
    const std::size_t end = words_.at() + word.size();
    const char next = end < words_.text().size() ? words_.text()[end] : '\n';
    if (is_shell_blank(next) || next == '\n' || next == ';' || next == ')' || next == '&' || next == '|' || next == '(')
      return word;
  }
  return {};
}

bool ShellReader::take_word(std::string_view word) {
  skip_space();
  if (reserved_word() != word) return false;
  words_.go_to(words_.at() + word.size());
  return true;
}

void ShellReader::skip(std::string what, ByteOrigin origin) {
  constexpr std::size_t most_skipped = 100;
  if (state_.script.skipped.size() >= most_skipped) return;
  const Place place = state_.script.sources[origin.file]->place(origin.offset);
  std::string line = fmt::format("{}:{}: {}", place.file, place.line, what);
  if (!contains(state_.script.skipped, line)) state_.script.skipped.push_back(std::move(line));
}

bool ShellReader::is_unset(const PlacedText& word) const {
  std::string_view name = word.text;
  if (!name.starts_with('$')) return false;
  name.remove_prefix(1);
  if (name.starts_with('{') && name.ends_with('}')) name = name.substr(1, name.size() - 2);
  return is_shell_name(name) && !is_of_launchers(name);
}

void ShellReader::read(ScriptRun run) {
  while (!words_.is_at_end() && !own_.has_ended) {
    const std::size_t from = words_.at();
    read_list(run, {});
    // A closing word without an opening word, such as a lone `fi`, is skipped.
    if (words_.at() == from) words_.go_to(from + 1);
  }
}

std::string_view ShellReader::read_list(ScriptRun run, std::span<const std::string_view> ends) {
  if (++own_.nesting > most_shell_nesting)
    throw state_.error(words_.origin(words_.at()), fmt::format("branches are nested deeper than {}", most_shell_nesting));
  std::string_view found;
  while (!words_.is_at_end() && found.empty()) {
    skip_space();
    if (words_.is_at_end() || (own_.has_ended && ends.empty())) break;
    const std::string_view word = reserved_word();
    for (const std::string_view end : ends) {
      if ((end == ";;" || end == ")") ? words_.stands(end) : word == end) found = end;
    }
    if (!found.empty()) {
      words_.go_to(words_.at() + found.size());
      break;
    }
    const std::size_t from = words_.at();
    read_conditions(own_.has_ended ? ScriptRun::no : run);
    if (words_.at() == from) words_.go_to(from + 1);
  }
  --own_.nesting;
  return found;
}

/// Reads commands that are joined by `&&`, `||` or `|`.
ShellReader::Status ShellReader::read_conditions(ScriptRun run) {
  own_.written.reset();
  Status status = read_command(run);
  while (true) {
    words_.skip_blanks();
    const bool is_and = words_.stands("&&"), is_or = words_.stands("||");
    const bool is_pipe = !is_or && words_.here() == '|';
    if (!is_and && !is_or && !is_pipe) return status;
    words_.go_to(words_.at() + (is_pipe ? 1 : 2));
    if (is_pipe && words_.here() == '&') words_.go_to(words_.at() + 1);
    skip_space();
    if (is_pipe) {
      own_.input = std::exchange(own_.written, std::nullopt);
      status = read_command(run);
      own_.input.reset();
      status.holds = std::nullopt;
      status.is_test = true;
      continue;
    }
    // Commands other than tests are assumed to succeed.
    ScriptRun next = run;
    if (status.holds) {
      next = *status.holds == is_and ? run : ScriptRun::no;
    } else if (status.is_test || is_or) {
      next = std::min(run, ScriptRun::maybe);
    }
    const bool is_branch = next == ScriptRun::maybe;
    if (is_branch) state_.variables.begin_branches();
    const bool had_ended = own_.has_ended;
    const Status other = read_command(next);
    if (is_branch) {
      own_.has_ended = had_ended;
      state_.variables.end_branch();
      state_.variables.end_branches(false);
    }
    if (next == ScriptRun::yes) {
      status = other;
    } else if (next == ScriptRun::maybe) {
      status = {.holds = std::nullopt, .is_test = true};
    }
  }
}

ShellReader::Status ShellReader::read_command(ScriptRun run) {
  if (++state_.commands > most_script_commands || state_.variables.copied() > 16 * most_expanded_bytes) {
    throw state_.error(words_.origin(words_.at()),
                       fmt::format("the script runs more than {} commands", most_script_commands),
                       "pass only the part of the script that launches the training");
  }
  words_.expand(run != ScriptRun::no);
  words_.skip_blanks();
  if (std::ranges::any_of(directive_marks, [&](std::string_view mark) { return words_.stands(mark); })) {
    read_directive();
    return {};
  }
  if (words_.stands("! ")) {
    words_.go_to(words_.at() + 2);
    if (++own_.nesting > most_shell_nesting) return {};
    Status status = read_command(run);
    --own_.nesting;
    if (status.holds) status.holds = !*status.holds;
    status.is_test = true;
    return status;
  }
  if (words_.stands("[[")) return read_brackets(run);
  if (words_.stands("((")) return read_double_parentheses(run);
  if (words_.here() == '(') {
    words_.go_to(words_.at() + 1);
    constexpr std::array<std::string_view, 1> ends{")"};
    read_list(run, ends);
    own_.written.reset();
    return {};
  }
  const std::string_view word = reserved_word();
  if (word == "{") {
    words_.go_to(words_.at() + 1);
    constexpr std::array<std::string_view, 1> ends{"}"};
    read_list(run, ends);
  } else if (word == "if") {
    read_if(run);
  } else if (word == "for" || word == "select") {
    read_for(run);
  } else if (word == "while" || word == "until") {
    read_while(run);
  } else if (word == "case") {
    read_case(run);
  } else if (!word.empty() && word != "function") {
    words_.go_to(words_.at() + word.size());  // a closing word without an opening word
  } else if (!read_function(run)) {
    return read_simple(run);
  }
  own_.written.reset();  // several commands write the output
  return {};
}

void ShellReader::read_directive() {
  std::size_t system = 0;
  while (!words_.stands(directive_marks[system])) ++system;
  words_.go_to(words_.at() + directive_marks[system].size());
  ShellWordList words;
  words_.expand(false);
  while (!words_.is_at_end() && words_.here() != '\n') {
    while (is_shell_blank(words_.here())) words_.go_to(words_.at() + 1);
    if (words_.here() == '#') words_.skip_line();
    const std::size_t from = words_.at();
    words_.read_word(words);
    words.end();
    if (words_.at() == from && words_.here() != '\n') words_.go_to(from + 1);
  }
  constexpr std::size_t most_directives = 1000;
  if (!words.done.empty() && state_.script.directives.size() < most_directives)
    state_.script.directives.push_back({.system = std::string(directive_systems[system]), .words = std::move(words.done)});
}

void ShellReader::read_if(ScriptRun run) {
  words_.go_to(words_.at() + 2);
  constexpr std::array<std::string_view, 3> ends{"elif", "else", "fi"};
  // Whether an earlier branch has run; unset if unknown.
  std::optional<bool> is_taken = false;
  bool is_undecided = false, is_complete = false;
  std::string_view end = "elif";
  while (end == "elif") {
    skip_space();
    const ScriptRun condition_run = is_taken && *is_taken ? ScriptRun::no : run;
    Status status = read_conditions(condition_run);
    // If a condition consists of several commands, the last command decides.
    skip_space();
    while (!words_.is_at_end() && reserved_word() != "then") {
      const std::size_t from = words_.at();
      status = read_conditions(condition_run);
      skip_space();
      if (words_.at() == from) break;
    }
    end = {};
    if (!take_word("then")) break;
    ScriptRun own = run;
    if (is_taken && *is_taken) {
      own = ScriptRun::no;
    } else if (!status.holds) {
      own = std::min(run, ScriptRun::maybe);
      is_taken = std::nullopt;
    } else if (!*status.holds) {
      own = ScriptRun::no;
    } else {
      own = is_undecided ? std::min(run, ScriptRun::maybe) : run;
      is_complete = is_undecided;
      is_taken = true;
    }
    if (own == ScriptRun::maybe && !is_undecided) {
      is_undecided = true;
      state_.variables.begin_branches();
    }
    const bool had_ended = own_.has_ended;
    end = read_list(own, ends);
    if (own != ScriptRun::yes) own_.has_ended = had_ended;
    if (own == ScriptRun::maybe) state_.variables.end_branch();
  }
  if (end == "else") {
    const ScriptRun own = is_taken && *is_taken ? ScriptRun::no : is_undecided ? std::min(run, ScriptRun::maybe) : run;
    constexpr std::array<std::string_view, 1> fi{"fi"};
    const bool had_ended = own_.has_ended;
    read_list(own, fi);
    if (own != ScriptRun::yes) own_.has_ended = had_ended;
    if (is_undecided && own == ScriptRun::maybe) {
      state_.variables.end_branch();
      is_complete = true;
    }
  }
  if (is_undecided) state_.variables.end_branches(is_complete);
}

/// Reads the body of a loop, which may run any number of times, or not at all.
void ShellReader::read_optional(ScriptRun run, std::span<const std::string_view> ends) {
  const bool had_ended = own_.has_ended;
  const ScriptRun own = std::min(run, ScriptRun::maybe);
  if (own == ScriptRun::maybe) state_.variables.begin_branches();
  read_list(own, ends);
  own_.has_ended = had_ended;
  if (own != ScriptRun::maybe) return;
  state_.variables.end_branch();
  state_.variables.end_branches(false);
}

void ShellReader::read_for(ScriptRun run) {
  words_.go_to(words_.at() + reserved_word().size());
  words_.skip_blanks();
  constexpr std::array<std::string_view, 1> done{"done"};
  std::string name;
  std::vector<PlacedText> values;
  std::string_view header;
  if (words_.stands("((")) {
    const std::size_t from = words_.at() + 2;
    words_.go_to(words_.closing(from, '(', ')'));
    header = words_.text().substr(from, words_.at() - from);
    if (words_.here() == ')') words_.go_to(words_.at() + 1);
  } else {
    while (goes_on_in_shell_name(words_.here())) {
      name += words_.here();
      words_.go_to(words_.at() + 1);
    }
    ShellWordList list;
    while (!words_.is_at_end()) {
      words_.skip_blanks();
      if (ends_command(words_.here())) break;
      const std::size_t from = words_.at();
      words_.read_word(list);
      list.end();
      if (words_.at() == from) words_.go_to(from + 1);
    }
    values = std::move(list.done);
    if (!values.empty()) values.erase(values.begin());  // removes `in` of `for NAME in`
  }
  if (!take_word("do")) return;
  // A value that --set gives for the variable decides which turn is read.
  const auto given = std::ranges::find_if(inputs_.values, [&](const auto& each) { return each.first == name; });
  if (given != inputs_.values.end() && !values.empty()) {
    const ByteOrigin origin = values.front().origin();
    if (run != ScriptRun::no) check_loop_value(name, given->second, values);
    values = {{.text = given->second, .origins = std::vector<ByteOrigin>(given->second.size(), origin), .start = origin}};
  }
  if (run == ScriptRun::yes && follow_for(header, name, values, done)) return;
  if (run != ScriptRun::no) forget_counter(header);
  if (run != ScriptRun::no && !name.empty() && !values.empty()) {
    // If a loop has several values, it is unknown which of them the training uses.
    PlacedText value = values.back();
    if (values.size() > 1) value.mark(Certainty::of_branches);
    state_.variables.assign(name, {.words = {std::move(value)}});
    if (values.size() == 1 && values.front().is_known()) {
      read_list(run, done);
      return;
    }
  }
  read_optional(run, done);
}

void ShellReader::read_while(ScriptRun run) {
  words_.go_to(words_.at() + reserved_word().size());
  const std::size_t from = words_.at();
  constexpr std::array<std::string_view, 1> does{"do"}, done{"done"};
  read_list(std::min(run, ScriptRun::maybe) == ScriptRun::no ? ScriptRun::no : run, does);
  const std::string_view condition = words_.text().substr(from, words_.at() - from);
  // A loop over `$#` parses the script's own options. The script is assumed to be called without options.
  const bool is_of_options = condition.find("$#") != std::string_view::npos ||
                             condition.find("getopts") != std::string_view::npos ||
                             condition.find("$1") != std::string_view::npos;
  if (is_of_options) {
    const bool had_ended = own_.has_ended;
    read_list(ScriptRun::no, done);
    own_.has_ended = had_ended;
  } else {
    read_optional(run, done);
  }
}

void ShellReader::read_case(ScriptRun run) {
  words_.go_to(words_.at() + 4);
  words_.skip_blanks();
  ShellWordList word;
  words_.read_word(word, false);
  word.end();
  const PlacedText subject = word.done.empty() ? PlacedText{} : word.done.front();
  skip_space();
  if (words_.stands("in")) words_.go_to(words_.at() + 2);
  const bool is_known = subject.is_known();
  bool is_taken = false, has_others = false;
  const bool is_undecided = !is_known && run != ScriptRun::no;
  if (is_undecided) state_.variables.begin_branches();
  while (!words_.is_at_end()) {
    skip_space();
    if (take_word("esac")) break;
    if (words_.here() == '(') words_.go_to(words_.at() + 1);
    bool fits = false;
    while (!words_.is_at_end() && words_.here() != ')') {
      words_.skip_blanks();
      ShellWordList pattern;
      const std::size_t from = words_.at();
      words_.expand(run != ScriptRun::no);
      words_.read_word(pattern, false);
      pattern.end();
      if (!pattern.done.empty()) {
        fits = fits || (is_known && fits_pattern(pattern.done.front().text, subject.text));
        has_others = has_others || pattern.done.front().text == "*";
      }
      words_.skip_blanks();
      if (words_.here() == '|' || words_.at() == from) words_.go_to(words_.at() + 1);
    }
    words_.go_to(std::min(words_.at() + 1, words_.text().size()));
    const ScriptRun own = run == ScriptRun::no ? run
                          : is_undecided       ? ScriptRun::maybe
                          : fits && !is_taken  ? run
                                               : ScriptRun::no;
    is_taken = is_taken || fits;
    constexpr std::array<std::string_view, 2> ends{";;", "esac"};
    const bool had_ended = own_.has_ended;
    const std::string_view end = read_list(own, ends);
    if (own != ScriptRun::yes) own_.has_ended = had_ended;
    if (is_undecided) state_.variables.end_branch();
    if (end != ";;") break;
    if (words_.here() == '&') words_.go_to(words_.at() + 1);
  }
  if (is_undecided) state_.variables.end_branches(has_others);
}

ShellReader::Status ShellReader::read_brackets(ScriptRun run) {
  words_.go_to(words_.at() + 2);
  std::vector<PlacedText> all;
  while (!words_.is_at_end()) {
    words_.skip_blanks();
    if (words_.stands("]]")) break;
    const char c = words_.here();
    const std::size_t from = words_.at();
    if (words_.stands("&&") || words_.stands("||")) {
      all.push_back(words_.part(from, from + 2));
      words_.go_to(from + 2);
    } else if (c == '(' || c == ')' || c == '<' || c == '>') {
      all.push_back(words_.part(from, from + 1));
      words_.go_to(from + 1);
    } else if (c == '\n' || c == ';' || c == '&' || c == '|') {
      words_.go_to(from + 1);
    } else {
      ShellWordList word;
      words_.read_word(word, false);
      word.end();
      for (PlacedText& each : word.done) all.push_back(std::move(each));
      if (words_.at() == from) words_.go_to(from + 1);
    }
  }
  words_.go_to(std::min(words_.at() + 2, words_.text().size()));
  return run == ScriptRun::no ? Status{} : perform_test(all);
}

ShellReader::Status ShellReader::perform_test(const std::vector<PlacedText>& words) {
  return {.holds = shell_test(words, [&](const PlacedText& word) { return is_unset(word); }), .is_test = true};
}

ShellReader::Status ShellReader::read_double_parentheses(ScriptRun run) {
  const std::size_t from = words_.at() + 2;
  const std::size_t end = words_.closing(from, '(', ')');
  const std::string_view inner = words_.text().substr(from, end > from ? end - from - 1 : 0);
  words_.go_to(end);
  if (words_.here() == ')') words_.go_to(end + 1);
  if (run == ScriptRun::no) return {};
  // An assignment or an increment in arithmetic makes the variable's value unknown.
  std::size_t name_end = 0;
  while (name_end < inner.size() && (goes_on_in_shell_name(inner[name_end]) || is_shell_blank(inner[name_end]))) ++name_end;
  const std::string_view rest = inner.substr(name_end);
  if (rest.starts_with("++") || rest.starts_with("--") || rest.starts_with("+=") || rest.starts_with("-=") ||
      (rest.starts_with("=") && !rest.starts_with("=="))) {
    std::string name(inner.substr(0, name_end));
    std::erase_if(name, is_shell_blank);
    PlacedText value = words_.part(from, end);
    value.mark(Certainty::outside);
    state_.variables.assign(name, {.words = {std::move(value)}});
    return {};
  }
  const auto value = shell_arithmetic(inner, [&](const std::string& name) { return state_.variables.number(name); });
  return {.holds = value ? std::optional<bool>(*value != 0) : std::nullopt, .is_test = true};
}

/// Reads a function definition: `name() { … }` or `function name { … }`. Returns false if there is no definition.
bool ShellReader::read_function(ScriptRun run) {
  const std::size_t from = words_.at();
  const bool is_declared = reserved_word() == "function";
  if (is_declared) words_.go_to(from + std::string_view("function").size());
  words_.skip_blanks();
  const std::size_t name_at = words_.at();
  while (goes_on_in_shell_name(words_.here()) || words_.here() == '-') words_.go_to(words_.at() + 1);
  const std::string name(words_.text().substr(name_at, words_.at() - name_at));
  words_.skip_blanks();
  const bool has_parentheses = words_.stands("()") || words_.stands("( )");
  if (name.empty() || (!is_declared && !has_parentheses)) {
    words_.go_to(from);
    if (is_declared) words_.go_to(from + std::string_view("function").size());
    return is_declared;
  }
  if (has_parentheses) words_.go_to(words_.closing(words_.at() + 1, '(', ')'));
  skip_space();
  if (reserved_word() != "{") return true;
  const std::size_t body = words_.at() + 1;
  words_.go_to(body);
  constexpr std::array<std::string_view, 1> ends{"}"};
  const bool had_ended = own_.has_ended;
  read_list(ScriptRun::no, ends);
  own_.has_ended = had_ended;
  if (run != ScriptRun::no) state_.functions[name] = words_.part(body, std::max(words_.at(), body + 1) - 1);
  return true;
}

}  // namespace ddl
