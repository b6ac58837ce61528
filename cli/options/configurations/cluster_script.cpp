#include "cli/options/configurations/cluster_script.hpp"

#include <algorithm>

#include "cli/options/configurations/shell_text.hpp"
#include "core/source_text.hpp"
#include "core/words.hpp"

namespace ddl {
namespace {

constexpr std::string_view between_words = " \t\n";

/// Kubernetes replaces `$(NAME)` by the variable of the container.
std::string with_variables(std::string_view text, const std::set<std::string>& names) {
  std::string all;
  for (std::size_t at = 0; at < text.size(); ++at) {
    std::size_t end = at;
    if (text.substr(at).starts_with("$(")) {
      end = at + 2;
      while (end < text.size() && goes_on_in_shell_name(text[end])) ++end;
    }
    const bool is_reference = end > at && end < text.size() && text[end] == ')';
    if (is_reference && names.contains(std::string(text.substr(at + 2, end - at - 2)))) {
      all += "${";
      all += text.substr(at + 2, end - at - 2);
      all += '}';
      at = end;
    } else {
      all += text[at];
    }
  }
  return all;
}

}  // namespace

std::string scalar_text(const ExpandedNode& value) {
  return value.is_scalar() && !value.is_null() ? value.text() : std::string();
}

std::string shell_word(std::string_view text, const std::set<std::string>& names) {
  const std::string plain = with_variables(text, names);
  if (plain.find_first_of(" \t\n'\"\\`|&;<>(){}*?#~!") == std::string::npos && !plain.empty()) return plain;
  std::string all = "\"";
  for (const char c : plain) {
    if (c == '"' || c == '\\' || c == '`') all += '\\';
    all += c == '\n' ? ' ' : c;
  }
  return all + '"';
}

ClusterScript::ClusterScript(const std::string& job) {
  for (std::size_t at = 0; at <= job.size();) {
    const std::size_t end = std::min(job.find('\n', at), job.size());
    raw_.emplace_back(job, at, end - at);
    if (raw_.back().ends_with('\r')) raw_.back().pop_back();
    at = end + 1;
  }
  lines_.resize(raw_.size());
}

bool ClusterScript::is_block(const ExpandedNode& value) const {
  const Place place = value.place();
  const std::size_t line = static_cast<std::size_t>(place.line) - 1 + first_;
  const std::size_t column = static_cast<std::size_t>(place.column) - 1;
  if (line + 1 >= raw_.size() || column >= raw_[line].size()) return false;
  return raw_[line][column] == '|' || raw_[line][column] == '>';
}

std::size_t ClusterScript::line_of(const ExpandedNode& value) const {
  const std::size_t line = static_cast<std::size_t>(value.place().line) - 1 + first_;
  return std::min(is_block(value) ? line + 1 : line, raw_.size() - 1);
}

JobText ClusterScript::text_of(const ExpandedNode& value) const {
  JobText read{.text = {}, .line = line_of(value), .is_block = is_block(value)};
  if (!read.is_block) {
    read.text = scalar_text(value);
    return read;
  }
  const bool is_folded = raw_[read.line - 1][static_cast<std::size_t>(value.place().column) - 1] == '>';
  read.text.reserve(value.text().size());
  std::size_t indent = std::string::npos;
  for (std::size_t line = read.line; line < raw_.size(); ++line) {
    const std::size_t depth = raw_[line].find_first_not_of(' ');
    if (depth == std::string::npos) {
      read.text += '\n';
      continue;
    }
    if (indent == std::string::npos) indent = depth;
    if (depth < indent) break;
    std::string_view one = std::string_view(raw_[line]).substr(indent);
    while (one.ends_with(' ')) one.remove_suffix(1);
    // The next line of a folded text belongs to the same command.
    const bool goes_on = is_folded && !one.ends_with('\\') && line + 1 < raw_.size() &&
                         raw_[line + 1].find_first_not_of(' ') != std::string::npos &&
                         raw_[line + 1].find_first_not_of(' ') >= indent;
    read.text += one;
    read.text += goes_on ? " \\\n" : "\n";
  }
  return read;
}

bool ClusterScript::add_text(const JobText& script, const JobVariables& variables) {
  if (script.text.find_first_not_of(between_words) == std::string::npos || !seen_.insert(script.text).second) return false;
  begin_command(script.line, variables);
  std::size_t line = script.line;
  std::string rest;
  for (const std::string_view raw : split(script.text, "\n")) {
    const std::string one = with_variables(raw, variables.names);
    // A text in quotes has its line breaks on one line of the file, so its commands are separated there.
    if (script.is_block && line < lines_.size()) {
      put(line, one);
    } else if (rest.ends_with('\\')) {
      rest.back() = ' ';
      rest += one;
    } else if (one.find_first_not_of(" \t") != std::string::npos && one[one.find_first_not_of(" \t")] != '#') {
      rest += (rest.empty() ? "" : "; ") + one;
    }
    ++line;
  }
  if (!rest.empty()) put(script.line, rest);
  return true;
}

bool ClusterScript::add_words(std::vector<JobText> words, const JobVariables& variables) {
  if (words.empty()) return false;
  const std::string_view shell = last_step(words.front().text);
  if (shell == "bash" || shell == "sh") {
    for (std::size_t i = 1; i + 1 < words.size() && words[i].text.starts_with('-'); ++i) {
      if (words[i].text.starts_with("--")) continue;
      if (words[i].text.ends_with('c')) return add_text(words[i + 1], variables);
      if (words[i].text.ends_with('o')) ++i;  // an option with a value: `-o pipefail`
    }
  }
  std::string all;
  for (const JobText& word : words) all += word.text + ' ';
  if (!seen_.insert(all).second) return false;
  // Arguments may stand above the command in the file.
  for (std::size_t i = 1; i < words.size(); ++i) words[i].line = std::max(words[i].line, words[i - 1].line);
  begin_command(words.front().line, variables);
  for (const JobText& word : words)
    put(word.line, word.is_shell ? with_variables(word.text, variables.names) : shell_word(word.text, variables.names));
  for (std::size_t line = words.front().line; line < words.back().line; ++line) put(line, "\\");
  return true;
}

void ClusterScript::add_first(const std::string& command) {
  std::string& line = lines_[first_];
  line = command + (line.empty() ? "" : "; ") + line;
}

void ClusterScript::add_directive(std::size_t line, const std::string& directive) {
  std::size_t place = std::min(line, lines_.size() - 1);
  if (!lines_[place].empty()) place = first_;
  if (lines_[place].ends_with('\\')) return;
  lines_[place] += (lines_[place].empty() ? "" : "; ") + directive;
}

std::optional<std::string> ClusterScript::script() const {
  if (seen_.empty()) return std::nullopt;
  std::string text;
  for (const std::string& line : lines_) text += line + '\n';
  return text;
}

/// Separates a command from one before it on the same line, and sets its variables.
void ClusterScript::begin_command(std::size_t line, const JobVariables& variables) {
  std::string& whole = lines_[std::min(line, lines_.size() - 1)];
  if (!whole.empty() && !whole.ends_with(';') && !whole.ends_with('&')) whole += ';';
  if (!variables.assigned.empty()) put(line, "export" + variables.assigned + ";");
}

void ClusterScript::put(std::size_t line, const std::string& text) {
  std::string& whole = lines_[std::min(line, lines_.size() - 1)];
  whole += (whole.empty() ? "" : " ") + text;
}

}  // namespace ddl
