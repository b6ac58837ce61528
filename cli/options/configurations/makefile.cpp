#include <algorithm>
#include <string_view>

#include "cli/options/configurations/scripts_in_files.hpp"
#include "cli/options/configurations/shell_text.hpp"
#include "core/lower_case.hpp"
#include "core/words.hpp"

namespace ddl {
namespace {

std::string_view trimmed_line(std::string_view text) { return trimmed(text, " \t\r"); }

/// Replaces make's variables by those of a shell: `$(N)` by `${N}`, and `$$N` by `$N`. Make's functions, such as
/// `$(shell nproc)`, stay.
std::string with_shell_variables(std::string_view line) {
  std::string text;
  for (std::size_t i = 0; i < line.size(); ++i) {
    text += line[i];
    if (line[i] != '$' || i + 1 == line.size()) continue;
    if (line[i + 1] == '$') {
      ++i;
      continue;
    }
    if (line[i + 1] != '(') continue;
    std::size_t end = i + 2;
    while (end < line.size() && goes_on_in_shell_name(line[end])) ++end;
    if (end == i + 2 || end == line.size() || line[end] != ')') continue;
    text += '{';
    text += line.substr(i + 2, end - i - 2);
    text += '}';
    i = end;
  }
  return text;
}

/// An assignment in a makefile [GNU make, "How to Use Variables"]: `N ?= 8`.
struct Assignment {
  std::string_view name, value;
  bool is_default = false;  ///< whether the environment takes precedence
};

/// Reads an assignment. The name is empty if the line is not an assignment.
Assignment assignment_in(std::string_view line) {
  if (line.starts_with('\t')) return {};
  line = trimmed_line(line);
  for (const std::string_view word : {"export ", "override "}) {
    if (line.starts_with(word)) line = trimmed_line(line.substr(word.size()));
  }
  std::size_t end = 0;
  while (end < line.size() && goes_on_in_shell_name(line[end])) ++end;
  std::string_view rest = trimmed_line(line.substr(end));
  const bool is_default = rest.starts_with("?=");
  for (const std::string_view sign : {"?=", "::=", ":=", "="}) {
    if (!rest.starts_with(sign)) continue;
    rest = trimmed_line(rest.substr(sign.size()));
    const std::size_t comment = std::min(rest.find(" #"), rest.size());
    return {line.substr(0, end), trimmed_line(rest.substr(0, comment)), is_default};
  }
  return {};
}

std::string quoted(std::string_view value) {
  std::string text;
  for (const char c : with_shell_variables(value)) {
    if (c == '"' || c == '`') text += '\\';
    text += c;
  }
  return text;
}

}  // namespace

bool is_makefile(const std::string& path) {
  const std::string name = lower_case(last_step(path));
  return name == "makefile" || name == "gnumakefile" || name.ends_with(".mk");
}

std::string script_of_makefile(const std::string& text) {
  std::string script;
  std::string_view closing;  // the characters that end a value of several lines
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    std::string_view line = std::string_view(text).substr(at, end - at);
    at = end + 1;
    const bool goes_on = line.ends_with('\\');
    const Assignment assignment = closing.empty() ? assignment_in(line) : Assignment{};
    if (!closing.empty()) {
      script += quoted(line);
    } else if (!assignment.name.empty()) {
      // Commands may replace a default by --set.
      const std::string name(assignment.name);
      script += assignment.is_default ? name + "=\"${" + name + "-" : name + "=\"";
      closing = assignment.is_default ? "}\"" : "\"";
      script += quoted(assignment.value);
    } else if (line.starts_with('\t')) {
      const std::size_t command = std::min(line.find_first_not_of("\t @-+"), line.size());
      script += with_shell_variables(line.substr(command));
    } else {
      script += with_shell_variables(line);
    }
    if (!goes_on) {
      script += closing;
      closing = {};
    }
    if (end < text.size()) script += '\n';
  }
  return script;
}

}  // namespace ddl
