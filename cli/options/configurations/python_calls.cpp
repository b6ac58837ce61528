#include "cli/options/configurations/python_calls.hpp"

#include <algorithm>
#include <utility>

namespace ddl {
namespace {

constexpr std::string_view gaps = " \t\r\n\\";
constexpr std::size_t deepest_call = 64;

bool begins_name(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_number_start(char c) { return c >= '0' && c <= '9'; }
bool goes_on_in_name(char c) { return begins_name(c) || is_number_start(c) || c == '.'; }

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

/// Returns the parts of a list, which commas separate, without its brackets, with their offsets, and the offset behind the
/// closing bracket; that is past the end if the bracket is missing.
std::pair<std::vector<PythonArgument>, std::size_t> parts_of(std::string_view text, std::size_t from) {
  std::vector<PythonArgument> parts;
  std::size_t depth = 0, begin = from;
  const auto add = [&](std::size_t end) {
    std::string_view part = text.substr(begin, end - begin);
    // Comments before an argument are no part of it.
    std::size_t at = 0;
    while (at < part.size() && (gaps.find(part[at]) != std::string_view::npos || part[at] == '#'))
      at = part[at] == '#' ? end_of_inert(part, at) : at + 1;
    if (at < part.size()) parts.push_back({.text = std::string(stripped(part.substr(at))), .offset = begin + at});
    begin = end + 1;
  };
  for (std::size_t i = from; i < text.size();) {
    const std::size_t end = end_of_inert(text, i);
    if (end > i) {
      i = end;
      continue;
    }
    const char c = text[i];
    if (c == '(' || c == '[' || c == '{') ++depth;
    if (c == ')' || c == ']' || c == '}') {
      if (depth == 0) {
        add(i);
        return {std::move(parts), i + 1};
      }
      --depth;
    }
    if (c == ',' && depth == 0) add(i);
    ++i;
  }
  return {{}, text.size() + 1};
}

/// Takes the name off an argument: `r=16`, but not `a == b`.
void take_name(PythonArgument& argument) {
  const std::string& text = argument.text;
  const std::size_t end =
      static_cast<std::size_t>(std::find_if_not(text.begin(), text.end(), goes_on_in_name) - text.begin());
  const std::size_t equals = text.find_first_not_of(gaps, end);
  if (end == 0 || equals == std::string::npos || text[equals] != '=' || text.substr(equals, 2) == "==") return;
  const std::size_t value = std::min(text.find_first_not_of(gaps, equals + 1), text.size());
  argument.name = text.substr(0, end);
  argument.offset += value;
  argument.text.erase(0, value);
}

/// Returns the text before a comment that follows an expression.
std::string_view without_comment(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    if (text[i] == '#') return stripped(text.substr(0, i));
    i = std::max(end_of_inert(text, i), i + 1);
  }
  return stripped(text);
}

std::optional<std::string> plain_literal(std::string_view text) {
  if (text == "True" || text == "False" || text == "None") return text == "None" ? "null" : std::string(text);
  const std::size_t digits = text.starts_with('-') ? 1 : 0;
  const bool is_number = text.size() > digits && is_number_start(text[digits]) &&
                         text.find_first_not_of("0123456789.eE_+-") == std::string_view::npos;
  if (is_number) {
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
  const std::string_view text = stripped(expression);
  if (text.size() < 2 || (text[0] != '[' && text[0] != '(')) return plain_literal(without_comment(text));
  const auto [items, end] = parts_of(text, 1);
  if (end > text.size() || !without_comment(text.substr(end)).empty()) return std::nullopt;
  std::string words;
  for (const PythonArgument& item : items) {
    const std::optional<std::string> word = plain_literal(without_comment(item.text));
    if (!word) return std::nullopt;
    words += (words.empty() ? "" : " ") + *word;
  }
  return words;
}

/// Reads an assignment at the beginning of a statement, such as `batch: int = 4`: returns its name and the offset of its
/// value.
std::optional<std::pair<std::string, std::size_t>> assignment_at(std::string_view text, std::size_t at) {
  if (at >= text.size() || !begins_name(text[at])) return std::nullopt;
  std::size_t end = at;
  while (end < text.size() && goes_on_in_name(text[end])) ++end;
  std::size_t next = std::min(text.find_first_not_of(" \t", end), text.size());
  if (text.substr(next, 1) == ":") next = std::min(text.find_first_of("=\n", next), text.size());
  const bool changes = next + 1 < text.size() && text[next + 1] == '=' &&
                       std::string_view("+-*/|").find(text[next]) != std::string_view::npos;
  if (changes) return std::pair(std::string(text.substr(at, end - at)), std::string_view::npos);
  if (next >= text.size() || text[next] != '=' || text.substr(next + 1, 1) == "=") return std::nullopt;
  return std::pair(std::string(text.substr(at, end - at)), next + 1);
}

void collect(std::string_view text, std::size_t from, std::size_t to, std::size_t depth, std::vector<PythonCall>& calls) {
  for (std::size_t i = from; i < to;) {
    const std::size_t inert = end_of_inert(text, i);
    if (inert > i) {
      i = inert;
    } else if (begins_name(text[i]) && (i == 0 || !goes_on_in_name(text[i - 1]))) {
      const std::size_t begin = i;
      while (i < to && goes_on_in_name(text[i])) ++i;
      if (i >= to || text[i] != '(') continue;
      auto [arguments, end] = parts_of(text, i + 1);
      if (end > text.size()) return;
      for (PythonArgument& argument : arguments) take_name(argument);
      calls.push_back({std::string(text.substr(begin, i - begin)), std::move(arguments)});
      if (depth < deepest_call) collect(text, i + 1, end - 1, depth + 1, calls);
      i = end;
    } else {
      ++i;
    }
  }
}

}  // namespace

std::vector<PythonCall> python_calls(std::string_view text) {
  std::vector<PythonCall> calls;
  collect(text, 0, text.size(), 0, calls);
  return calls;
}

PythonNames::PythonNames(std::string_view program) {
  for (std::size_t line = 0; line < program.size();) {
    const std::size_t first = std::min(program.find_first_not_of(" \t", line), program.size());
    // A statement ends with its line, unless brackets are open.
    std::size_t end = line, depth = 0;
    for (; end < program.size() && (depth > 0 || program[end] != '\n');
         end = std::max(end_of_inert(program, end), end + 1)) {
      const char c = program[end];
      if (c == '(' || c == '[' || c == '{') ++depth;
      if ((c == ')' || c == ']' || c == '}') && depth > 0) --depth;
    }
    end = std::min(end, program.size());
    if (const auto assigned = assignment_at(program.substr(0, end), first)) {
      // A statement that is indented may run several times, or not at all.
      const bool is_constant = first == line && assigned->second <= end;
      const std::string_view value = is_constant ? program.substr(assigned->second, end - assigned->second) : "";
      const auto [entry, is_new] = values_.emplace(assigned->first, stripped(value));
      if (!is_new && entry->second != stripped(value)) entry->second.clear();
    }
    line = end + 1;
  }
}

std::optional<std::string> PythonNames::literal(std::string_view expression) const {
  if (const std::optional<std::string> written = literal_of(expression)) return written;
  const auto name = values_.find(std::string(without_comment(expression)));
  return name == values_.end() ? std::nullopt : literal_of(name->second);
}

}  // namespace ddl
