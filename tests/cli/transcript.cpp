#include "tests/cli/transcript.hpp"

#include <algorithm>
#include <cassert>
#include <cctype>
#include <cstddef>
#include <optional>
#include <utility>

#include "core/error.hpp"
#include "tests/cli/without_figures.hpp"

namespace ddl {
namespace {

constexpr std::string_view any_text = "[..]";
constexpr std::string_view any_lines = "...";
constexpr std::string_view file_start = "< file ";
constexpr std::string_view file_end = "< end";
constexpr std::string_view fence = "```";
constexpr std::string_view figures_start = "# figures: ";

constexpr std::string_view no_line_break = " (no-eol)";

std::vector<std::string> split_lines(std::string_view text, std::string_view mark_of_missing_break = {}) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    lines.emplace_back(text.substr(0, end));
    if (end == std::string_view::npos) {
      lines.back() += mark_of_missing_break;
      break;
    }
    text.remove_prefix(end + 1);
  }
  return lines;
}

[[noreturn]] void fail_at(const Transcript& transcript, std::size_t line, const std::string& message) {
  throw Error(transcript.origin + ":" + std::to_string(line + 1) + ": " + message);
}

/// Returns the exit code of a line such as `? 2`.
std::optional<int> exit_code_of(std::string_view line) {
  if (!line.starts_with("? ") || line.size() < 3 || line.size() > 5) return std::nullopt;
  int code = 0;
  for (const char digit : line.substr(2)) {
    if (std::isdigit(static_cast<unsigned char>(digit)) == 0) return std::nullopt;
    code = 10 * code + (digit - '0');
  }
  return code;
}

bool is_error_line(std::string_view line) { return line == "!" || line.starts_with("! "); }
bool is_comment(std::string_view line) { return line == "#" || line.starts_with("# "); }

/// Returns whether the line, at this position of an expected output, would be parsed as something other than output.
bool needs_escape(std::string_view line, TranscriptForm form) {
  if (line.starts_with("$ ") || line.starts_with("> ") || line.starts_with('\\') || line == any_lines) return true;
  if (exit_code_of(line).has_value()) return true;
  if (form == TranscriptForm::markdown) return line.starts_with(fence);
  return is_error_line(line) || is_comment(line) || line.starts_with(file_start);
}

LinePattern read_pattern(std::string_view line) {
  if (line == any_lines) return {.text = {}, .any_lines = true};
  if (line.starts_with('\\')) line.remove_prefix(1);
  return {.text = std::string(line)};
}

bool line_matches(std::string_view pattern, std::string_view line) {
  std::size_t wildcard = pattern.find(any_text);
  if (wildcard == std::string_view::npos) return pattern == line;
  if (!line.starts_with(pattern.substr(0, wildcard))) return false;
  line.remove_prefix(wildcard);
  while (true) {
    pattern.remove_prefix(wildcard + any_text.size());
    wildcard = pattern.find(any_text);
    if (wildcard == std::string_view::npos) return line.ends_with(pattern);
    const std::size_t found = line.find(pattern.substr(0, wildcard));
    if (found == std::string_view::npos) return false;
    line.remove_prefix(found + wildcard);
  }
}

/// Returns the value of a comment `# figures: exact`; empty for other comments.
std::optional<Figures> figures_of(const Transcript& transcript, std::size_t at) {
  const std::string_view line = transcript.lines[at];
  if (!line.starts_with(figures_start)) return std::nullopt;
  const std::string_view value = line.substr(figures_start.size());
  if (value == "exact") return Figures::exact;
  if (value == "any") return Figures::any;
  fail_at(transcript, at, "figures are 'exact' or 'any', not '" + std::string(value) + "'");
}

/// Reads one command and its expectation, from line `at` to before line `end`. Returns the line after the expectation.
std::size_t read_command(Transcript& transcript, std::size_t at, std::size_t end, Figures figures) {
  const std::vector<std::string>& lines = transcript.lines;
  TranscriptCommand command;
  command.line = at;
  command.shell = lines[at].substr(2);
  // The prefix is for readers of the markdown file, who have the source tree. In tests, the program is on the path.
  constexpr std::string_view from_source_tree = "./dev run ";
  if (transcript.form == TranscriptForm::markdown && command.shell.starts_with(from_source_tree)) {
    command.shell.replace(0, from_source_tree.size(), "ddl-oracle ");
  }
  ++at;
  while (at < end && (lines[at - 1].ends_with('\\') || lines[at].starts_with("> "))) {
    command.shell += '\n';
    command.shell += lines[at].starts_with("> ") ? lines[at].substr(2) : lines[at];
    ++at;
  }

  command.expected_begin = at;
  command.expected_end = at;
  const bool plain = transcript.form == TranscriptForm::plain;
  std::size_t empty_lines = 0;  // these lines are part of the output only if more output follows
  for (; at < end && !lines[at].starts_with("$ "); ++at) {
    const std::string_view line = lines[at];
    if (plain && (is_comment(line) || line.starts_with(file_start))) break;
    if (line.empty()) {
      ++empty_lines;
      continue;
    }
    command.expected_end = at + 1;
    if (const std::optional<int> code = exit_code_of(line)) {
      command.exit_code = *code;
    } else if (plain && is_error_line(line)) {
      command.errors.push_back(read_pattern(line.size() > 2 ? line.substr(2) : std::string_view()));
    } else {
      command.output.resize(command.output.size() + std::exchange(empty_lines, 0));
      command.output.push_back(read_pattern(line));
    }
  }
  command.figures = command.exit_code == 2 ? Figures::exact : figures;
  transcript.steps.emplace_back(std::move(command));
  return at;
}

void read_plain(Transcript& transcript) {
  const std::vector<std::string>& lines = transcript.lines;
  Figures figures = Figures::any;
  for (std::size_t at = 0; at < lines.size();) {
    if (lines[at].empty() || is_comment(lines[at])) {
      figures = figures_of(transcript, at).value_or(figures);
      ++at;
    } else if (lines[at].starts_with("$ ")) {
      at = read_command(transcript, at, lines.size(), figures);
    } else if (lines[at].starts_with(file_start)) {
      const std::size_t start = at;
      TranscriptFile file{.name = lines[at].substr(file_start.size()), .content = {}};
      for (++at; at < lines.size() && lines[at] != file_end; ++at) file.content += lines[at] + '\n';
      if (at == lines.size()) fail_at(transcript, start, "the file has no '< end'");
      transcript.steps.emplace_back(std::move(file));
      ++at;
    } else {
      fail_at(transcript, at, "expected a command ('$ '), a comment ('# ') or a file ('< file '), not '" + lines[at] + "'");
    }
  }
}

void read_markdown(Transcript& transcript) {
  const std::vector<std::string>& lines = transcript.lines;
  for (std::size_t at = 0; at < lines.size(); ++at) {
    const std::size_t indent = lines[at].find_first_not_of(' ');
    if (indent == std::string::npos || !std::string_view(lines[at]).substr(indent).starts_with(fence)) continue;
    const std::size_t start = at;
    const std::size_t ticks_end = std::min(lines[at].find_first_not_of('`', indent), lines[at].size());
    const std::string ticks = lines[at].substr(0, ticks_end);
    const std::string info = lines[at].substr(ticks_end);
    for (++at; at < lines.size() && lines[at] != ticks; ++at) {}
    if (at == lines.size()) fail_at(transcript, start, "the block that starts here does not end");

    const std::size_t space = info.find(' ');
    if (info == "console") {
      if (indent > 0) fail_at(transcript, start, "a console block must not be indented, to be run");
      std::size_t command = start + 1;
      while (command < at && lines[command].empty()) ++command;
      if (command < at && !lines[command].starts_with("$ ")) {
        fail_at(transcript, command, "a console block starts with a command ('$ '), not with '" + lines[command] + "'");
      }
      while (command < at) command = read_command(transcript, command, at, Figures::any);
    } else if (indent == 0 && space != std::string::npos) {
      TranscriptFile file{.name = info.substr(space + 1), .content = {}};
      for (std::size_t line = start + 1; line < at; ++line) file.content += lines[line] + '\n';
      transcript.steps.emplace_back(std::move(file));
    }
  }
}

std::string indented(std::string_view text) {
  std::string result;
  for (const std::string& line : split_lines(text)) result += "    " + line + '\n';
  return result;
}

/// A line of an expected output paired with a line of the actual output, or a single unpaired line.
struct LinePair {
  const LinePattern* expected = nullptr;
  const std::string* actual = nullptr;
};

/// A line without figures, for each of the two meanings of a comma.
struct Readings {
  explicit Readings(std::string_view line)
      : figures(without_figures(line, CommaIn::figures)), columns(without_figures(line, CommaIn::columns)) {}
  std::string figures;
  std::string columns;
};

/// Pairs the lines so that as few lines as possible are unpaired. Lines matched by `...` are omitted.
std::vector<LinePair> pair_lines(std::span<const LinePattern> expected, const std::vector<std::string>& lines,
                                 Figures figures) {
  std::vector<Readings> expected_readings;
  std::vector<Readings> readings;
  if (figures == Figures::any) {
    for (const LinePattern& pattern : expected) expected_readings.emplace_back(pattern.text);
    for (const std::string& line : lines) readings.emplace_back(line);
  }
  const auto matches = [&](std::size_t i, std::size_t j) {
    if (i >= expected.size() || j >= lines.size()) return false;
    if (line_matches(expected[i].text, lines[j])) return true;
    return figures == Figures::any && (line_matches(expected_readings[i].figures, readings[j].figures) ||
                                       line_matches(expected_readings[i].columns, readings[j].columns));
  };

  // cost(i, j): the fewest differing lines between expected[i…] and lines[j…].
  const std::size_t width = lines.size() + 1;
  std::vector<std::size_t> costs((expected.size() + 1) * width);
  const auto cost = [&](std::size_t i, std::size_t j) -> std::size_t& { return costs[i * width + j]; };
  for (std::size_t i = expected.size() + 1; i-- > 0;) {
    for (std::size_t j = width; j-- > 0;) {
      const bool more_lines = j < lines.size();
      if (i < expected.size() && expected[i].any_lines) {
        cost(i, j) = more_lines ? std::min(cost(i + 1, j), cost(i, j + 1)) : cost(i + 1, j);
      } else if (matches(i, j)) {
        cost(i, j) = cost(i + 1, j + 1);
      } else if (i < expected.size()) {
        cost(i, j) = 1 + (more_lines ? std::min(cost(i + 1, j), cost(i, j + 1)) : cost(i + 1, j));
      } else {
        cost(i, j) = lines.size() - j;
      }
    }
  }

  std::vector<LinePair> pairs;
  for (std::size_t i = 0, j = 0; i < expected.size() || j < lines.size();) {
    if (i < expected.size() && expected[i].any_lines) {
      if (j < lines.size() && cost(i, j + 1) < cost(i + 1, j)) {
        ++j;
      } else {
        pairs.push_back({.expected = &expected[i++], .actual = nullptr});
      }
    } else if (matches(i, j)) {
      pairs.push_back({.expected = &expected[i++], .actual = &lines[j++]});
    } else if (i < expected.size() && (j == lines.size() || cost(i + 1, j) <= cost(i, j + 1))) {
      pairs.push_back({.expected = &expected[i++], .actual = nullptr});
    } else {
      pairs.push_back({.expected = nullptr, .actual = &lines[j++]});
    }
  }
  return pairs;
}

/// Returns the lines of the output, replaced by matching patterns where these have wildcards.
std::vector<LinePattern> accepted_patterns(std::span<const LinePattern> expected, std::string_view actual, Figures figures) {
  const std::vector<std::string> lines = split_lines(actual, no_line_break);
  std::vector<LinePattern> result;
  for (const LinePair& pair : pair_lines(expected, lines, figures)) {
    const bool wild =
        pair.expected != nullptr &&
        (pair.expected->any_lines || (pair.actual != nullptr && pair.expected->text.find(any_text) != std::string::npos));
    if (wild) {
      result.push_back(*pair.expected);
    } else if (pair.actual != nullptr) {
      result.push_back({.text = *pair.actual});
    }
  }
  return result;
}

/// Returns whether the outcome is exactly as written, including its figures.
bool as_written(const TranscriptCommand& command, const CommandOutcome& outcome) {
  return outcome.exit_code == command.exit_code &&
         output_difference(command.output, outcome.output, Figures::exact).empty() &&
         output_difference(command.errors, outcome.errors, Figures::exact).empty();
}

/// Returns the lines that state this outcome.
std::vector<std::string> state_outcome(const Transcript& transcript, const TranscriptCommand& command,
                                       const CommandOutcome& outcome) {
  const auto escaped = [&](const LinePattern& pattern) {
    if (pattern.any_lines) return std::string(any_lines);
    return needs_escape(pattern.text, transcript.form) ? '\\' + pattern.text : pattern.text;
  };
  std::vector<std::string> lines;
  for (const LinePattern& pattern : accepted_patterns(command.output, outcome.output, command.figures)) {
    lines.push_back(escaped(pattern));
  }
  if (!lines.empty() && lines.back().empty()) lines.back() = "\\";
  for (const LinePattern& pattern : accepted_patterns(command.errors, outcome.errors, Figures::exact)) {
    const std::string line = escaped(pattern);
    lines.push_back(line.empty() ? "!" : "! " + line);
  }
  if (outcome.exit_code != 0) lines.push_back("? " + std::to_string(outcome.exit_code));
  return lines;
}

}  // namespace

Transcript parse_transcript(std::string_view text, std::string origin, TranscriptForm form) {
  Transcript transcript{.origin = std::move(origin), .form = form, .lines = split_lines(text), .steps = {}};
  if (form == TranscriptForm::plain) {
    read_plain(transcript);
  } else {
    read_markdown(transcript);
  }
  const bool any_command = std::ranges::any_of(
      transcript.steps, [](const auto& step) { return std::holds_alternative<TranscriptCommand>(step); });
  if (!any_command) fail_at(transcript, 0, "no command ('$ ') to run");
  return transcript;
}

std::string output_difference(std::span<const LinePattern> expected, std::string_view actual, Figures figures) {
  const std::vector<std::string> lines = split_lines(actual, no_line_break);
  std::string difference;
  bool differs = false;
  for (const auto& [pattern, line] : pair_lines(expected, lines, figures)) {
    if (pattern != nullptr && pattern->any_lines) {
      difference += "  ...\n";
      continue;
    }
    assert(pattern != nullptr || line != nullptr);
    if (pattern == nullptr || line == nullptr) differs = true;
    const std::string_view mark = line == nullptr ? "- " : pattern == nullptr ? "+ " : "  ";
    difference.append(mark).append(line == nullptr ? pattern->text : *line).append("\n");
  }
  return differs ? difference : std::string();
}

std::string judge(const Transcript& transcript, const TranscriptCommand& command, const CommandOutcome& outcome) {
  std::string report;
  if (outcome.timed_out) report += "  did not end in time\n";
  if (outcome.exit_code != command.exit_code) {
    report +=
        "  exit code: expected " + std::to_string(command.exit_code) + ", was " + std::to_string(outcome.exit_code) + '\n';
  }
  if (const std::string difference = output_difference(command.output, outcome.output, command.figures);
      !difference.empty()) {
    report += "  output (- expected, + was):\n" + indented(difference);
  }
  if (const std::string difference = output_difference(command.errors, outcome.errors, Figures::exact);
      !difference.empty()) {
    report += "  errors (- expected, + was):\n" + indented(difference);
  }
  if (report.empty()) return {};
  return transcript.origin + ":" + std::to_string(command.line + 1) + ": " + transcript.lines[command.line] + '\n' + report;
}

std::string accept_outcomes(const Transcript& transcript, std::span<const CommandOutcome> outcomes) {
  std::string text;
  std::size_t copied = 0;
  const auto copy_until = [&](std::size_t end) {
    for (; copied < end; ++copied) text += transcript.lines[copied] + '\n';
  };
  std::size_t next = 0;
  for (const auto& step : transcript.steps) {
    const auto* command = std::get_if<TranscriptCommand>(&step);
    if (command == nullptr) continue;
    const CommandOutcome& outcome = outcomes[next++];
    if (as_written(*command, outcome)) continue;
    copy_until(command->expected_begin);
    for (const std::string& line : state_outcome(transcript, *command, outcome)) text += line + '\n';
    copied = command->expected_end;
  }
  copy_until(transcript.lines.size());
  return text;
}

}  // namespace ddl
