// This file evaluates `$(…)` if its commands only compute paths, numbers or texts that the script itself determines, such as
// `$(cd "$(dirname "$0")/.." && pwd)` and `$(expr $NODES \* 8)`.

#include <algorithm>
#include <array>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "cli/options/configurations/shell_tests.hpp"
#include "cli/options/configurations/shell_words.hpp"
#include "core/find.hpp"
#include "core/words.hpp"

namespace ddl {
namespace {

namespace fs = std::filesystem;

std::string joined_path(const std::string& folder, const std::string& path) {
  std::string joined = (fs::path(folder) / path).lexically_normal().string();
  if (joined.size() > 1 && joined.ends_with('/')) joined.pop_back();
  return joined;
}

/// As dirname(1).
std::string folder_of_path(const std::string& path) {
  const std::size_t slash = path.find_last_of('/');
  return slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
}

/// Whether a redirection such as `&>/dev/null` or `2>&1` begins the text.
bool begins_redirection(std::string_view text) {
  if (!text.empty() && is_shell_digit(text.front())) text.remove_prefix(1);
  return text.starts_with('>') || text.starts_with("&>");
}

/// As expr(1) of whole numbers: the words are operands, parentheses and the signs of arithmetic.
std::optional<std::string> expr_result(const std::vector<PlacedText>& words) {
  constexpr std::string_view signs = "+-*/%()";
  std::string text;
  for (std::size_t i = 1; i < words.size(); ++i) {
    const std::string& word = words[i].text;
    const bool is_sign = word.size() == 1 && signs.find(word.front()) != std::string_view::npos;
    if (!words[i].is_known() || (!is_sign && !shell_number(words[i]))) return std::nullopt;
    text += word + " ";
  }
  const auto value = shell_arithmetic(text, [](const std::string&) { return std::nullopt; });
  return value ? std::optional(std::to_string(*value)) : std::nullopt;
}

bool begins_with_known_command(std::string_view text) {
  constexpr std::array<std::string_view, 7> names{"cd ", "dirname ", "pwd", "realpath ", "readlink ", "basename ", "expr "};
  while (!text.empty() && is_shell_blank(text.front())) text.remove_prefix(1);
  return std::ranges::any_of(names, [&](std::string_view name) { return text.starts_with(name); });
}

/// The separators that `IFS=,;` at the beginning of a command gives, and the position after it.
struct Separators {
  std::string text;
  std::size_t end = 0;
};

/// Reads `IFS=,;`, `IFS=', ';` or `IFS=$'\n';` at the beginning of a command; empty if there is none, or if it is unknown.
std::optional<Separators> separators_of(std::string_view command) {
  constexpr std::string_view variable = "IFS=";
  if (!command.starts_with(variable)) return std::nullopt;
  std::size_t at = variable.size();
  const bool escapes = command.substr(at).starts_with("$'");
  if (escapes) ++at;
  const char first = at < command.size() ? command[at] : ';';
  const bool is_quoted = first == '\'' || first == '"';
  if (is_quoted) ++at;
  const std::size_t end =
      std::min(is_quoted ? command.find(first, at) : command.find_first_of("; \t\n", at), command.size());
  Separators all;
  for (; at < end; ++at) {
    char c = command[at];
    if (first != '\'' && (c == '$' || c == '`')) return std::nullopt;
    if (c == '\\' && first != '\'') return std::nullopt;
    if (c == '\\' && escapes && at + 1 < end) {
      c = command[++at];
      if (c != 'n' && c != 't') return std::nullopt;
      c = c == 'n' ? '\n' : '\t';
    }
    all.text += c;
  }
  if (is_quoted) ++at;
  while (at < command.size() && is_shell_blank(command[at])) ++at;
  if (at >= command.size() || (command[at] != ';' && command[at] != '\n')) return std::nullopt;
  for (++at; at < command.size() && is_shell_blank(command[at]);) ++at;
  all.end = at;
  return all;
}

/// The commands of one `$(…)`: their working directory, which is the script's folder at first, and their output.
class PathCommands {
 public:
  /// Performs a command. Returns false if its effect is unknown.
  bool perform(const std::vector<PlacedText>& words) {
    if (words.front().text == "expr") {
      const std::optional<std::string> sum = expr_result(words);
      output = sum.value_or(std::string());
      return sum.has_value();
    }
    std::vector<std::string> operands;
    for (const PlacedText& word : words) {
      if (!word.is_known()) return false;
      // The other options change the output, or have values.
      constexpr std::array<std::string_view, 6> plain{"-f", "-e", "-m", "-P", "-L", "--"};
      const bool is_option = !operands.empty() && word.text.starts_with('-');
      if (is_option && !contains(plain, word.text)) return false;
      if (!is_option) operands.push_back(word.text);
    }
    const std::string name = operands.front();
    if (name == "pwd") {
      output = folder_;
      return operands.size() == 1;
    }
    if (operands.size() < 2) return false;
    const std::string& path = operands[1];
    if (name == "cd") {
      folder_ = joined_path(folder_, path);
    } else if (name == "dirname") {
      output = folder_of_path(path);
    } else if (name == "realpath" || name == "readlink") {
      output = joined_path(folder_, path);
    } else if (name == "basename") {
      output = path.substr(path.find_last_of('/') + 1);
      if (operands.size() > 2 && output.size() > operands[2].size() && output.ends_with(operands[2]))
        output.resize(output.size() - operands[2].size());
    } else {
      return false;
    }
    return true;
  }

  std::string output{};

 private:
  std::string folder_ = ".";
};

}  // namespace

/// Makes the variables unknown that an expression changes, as `i++` and `i = 2` do.
void ShellWords::forget_changed(std::string_view text, std::size_t from) {
  constexpr std::size_t most_blanks = 16;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (!begins_shell_name(text[at])) continue;
    const std::size_t begin = at;
    while (at < text.size() && goes_on_in_shell_name(text[at])) ++at;
    const std::string name(text.substr(begin, at - begin));
    const std::size_t first = begin - std::min(begin, most_blanks);
    const std::string_view before = trimmed(text.substr(first, begin - first)),
                           after = trimmed(text.substr(at, most_blanks));
    const bool is_set =
        (after.starts_with('=') && !after.starts_with("==")) ||
        (after.size() > 1 && after[1] == '=' && std::string_view("+-*/%").find(after[0]) != std::string::npos);
    if (is_set || after.starts_with("++") || after.starts_with("--") || before.ends_with("++") || before.ends_with("--"))
      state_.variables.assign(name, {.words = {unknown_variable(name, origin(from))}});
  }
}

std::optional<PlacedText> ShellWords::own_name(const std::string& name, ByteOrigin from) const {
  const bool is_source = name == "BASH_SOURCE";
  if (!is_source && name != "0" && name != "PWD") return std::nullopt;
  std::string path = ".";
  if (name != "PWD") {
    const auto& sources = state_.script.sources;
    const std::size_t file = is_source ? from.file : state_.processes.empty() ? 0 : state_.processes.back();
    const fs::path top = fs::path(sources.front()->origin()).parent_path();
    path = fs::path(sources[file]->origin()).lexically_relative(top.empty() ? fs::path(".") : top).string();
  }
  from.certainty = path.empty() ? Certainty::outside : Certainty::known;
  if (path.empty()) path = name;
  return PlacedText{.text = path, .origins = std::vector<ByteOrigin>(path.size(), from), .start = from};
}

/// Returns the output of the commands in `text`; empty if it is unknown.
std::optional<std::string> ShellWords::output_of(const PlacedText& text) {
  if (!begins_with_known_command(text.text)) return std::nullopt;
  ShellWords reader(state_, text);
  PathCommands commands;
  ShellWordList words;
  const auto ends = [&] {
    words.end();
    const std::vector<PlacedText> all = std::exchange(words, {}).done;
    return all.empty() || commands.perform(all);
  };
  while (!reader.is_at_end()) {
    reader.skip_blanks();
    words.end();
    const char c = reader.here();
    if (begins_redirection(reader.text().substr(reader.at()))) {
      constexpr std::string_view marks = "0123456789&>";
      const auto position = [&](std::size_t at) { return std::min(at, text.text.size()); };
      reader.go_to(position(text.text.find_first_not_of(marks, reader.at())));
      reader.skip_blanks();
      reader.go_to(position(text.text.find_first_of(" ;&|\n", reader.at())));
    } else if (c == ';' || c == '\n' || reader.stands("&&")) {
      if (!ends()) return std::nullopt;
      reader.go_to(reader.at() + (c == '&' ? 2 : 1));
    } else if (!reader.is_at_end()) {
      const std::size_t before = reader.at();
      reader.read_word(words);
      if (reader.at() == before) return std::nullopt;  // a pipe or a subshell
    }
  }
  if (!ends() || commands.output.empty()) return std::nullopt;
  return commands.output;
}

void ShellWords::read_command_output(ShellWordList& words, bool splits) {
  const std::size_t from = at_;
  const bool is_quoted = here() == '`';
  if (is_quoted) {
    const std::size_t end = text_.find('`', at_ + 1);
    at_ = end == std::string_view::npos ? text_.size() : end + 1;
  } else {
    at_ = closing_command(at_ + 2);
  }
  std::size_t inner = std::min(from + (is_quoted ? 1 : 2), at_ - 1);
  std::string_view command = text_.substr(inner, at_ - 1 - inner);
  const std::optional<Separators> separators = separators_of(command);
  if (separators) inner += separators->end;
  command = text_.substr(inner, at_ - 1 - inner);
  constexpr std::string_view echo = "echo ";
  if (!expands_ || state_.outputs == most_shell_nesting) return put_unknown(words, from, at_);
  ++state_.outputs;
  if (command.starts_with(echo) && command.find_first_of("|;&<>`") == std::string_view::npos) {
    const PlacedText text = part(inner + echo.size(), at_ - 1);
    ShellWords reader(state_, text);
    if (separators) reader.separators_ = separators->text;
    ShellWordList own;
    while (!reader.is_at_end()) {
      reader.skip_blanks();
      const std::size_t before = reader.at();
      if (!reader.is_at_end()) reader.read_word(own);
      own.end();
      if (reader.at() == before) break;
    }
    for (std::size_t i = 0; i < own.done.size(); ++i) {
      if (i > 0) put_text(words, {.text = " ", .origins = {origin(from)}}, splits);
      put_text(words, own.done[i], splits);
    }
  } else if (const std::optional<std::string> output = output_of(part(inner, at_ - 1))) {
    const PlacedText text{.text = *output, .origins = std::vector<ByteOrigin>(output->size(), origin(from))};
    put_text(words, text, splits);
  } else {
    put_unknown(words, from, at_);
  }
  --state_.outputs;
}

}  // namespace ddl
