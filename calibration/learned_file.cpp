#include "calibration/learned_file.hpp"

#include <algorithm>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "calibration/coefficients_reader.hpp"
#include "core/error.hpp"

namespace ddl {
namespace {

constexpr std::string_view key = "learned-runs";

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

bool is_top_level(const std::string& line) {
  return !line.empty() && line.front() != ' ' && line.front() != '#' && line.front() != '-';
}

/// Lines [first, last) of a section: from its key to the next key at the margin.
struct Section {
  std::size_t first = 0, last = 0;
  [[nodiscard]] bool found() const { return last > first; }
};

Section section_of(const std::vector<std::string>& lines, std::string_view name) {
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (!lines[i].starts_with(fmt::format("{}:", name))) continue;
    std::size_t last = i + 1;
    while (last < lines.size() && !is_top_level(lines[last])) ++last;
    return {i, last};
  }
  return {};
}

void erase(std::vector<std::string>& lines, Section section) {
  lines.erase(lines.begin() + static_cast<std::ptrdiff_t>(section.first),
              lines.begin() + static_cast<std::ptrdiff_t>(section.last));
}

void insert(std::vector<std::string>& lines, std::size_t at, std::string line) {
  lines.insert(lines.begin() + static_cast<std::ptrdiff_t>(at), std::move(line));
}

void cite(std::vector<std::string>& lines, std::string_view citation) {
  std::erase_if(lines, [](const std::string& line) { return line.starts_with(fmt::format("  {}:", key)); });
  const Section sources = section_of(lines, "sources");
  if (!sources.found()) throw Error("the coefficients have no sources", "begin with a file that ddl-oracle reads");
  const std::string entry = fmt::format("{}: \"{}\"", key, citation);
  std::string& line = lines[sources.first];
  const std::size_t brace = line.find('{');
  if (brace == std::string::npos) {
    insert(lines, sources.first + 1, "  " + entry);
    return;
  }
  // On one line: `sources: {learned-runs: "...", paper: "..."}`. No quote stands within what was cited before.
  const std::size_t before = line.find(fmt::format("{}: \"", key));
  if (before == std::string::npos) {
    line.insert(brace + 1, entry + ", ");
  } else {
    const std::size_t end = line.find('"', line.find('"', before) + 1);
    line.replace(before, end + 1 - before, entry);
  }
}

void choose(std::vector<std::string>& lines, const LearnedChoice& choice) {
  const std::string entry = fmt::format("  {}: {{value: {}, source: {}}}", choice.key, choice.after, key);
  const Section software = section_of(lines, "software");
  if (!software.found()) {
    lines.emplace_back("software:");
    lines.push_back(fmt::format("  name: {{value: \"that of the runs\", source: {}}}", key));
    lines.push_back(entry);
    return;
  }
  for (std::size_t i = software.first; i < software.last; ++i) {
    if (lines[i].starts_with(fmt::format("  {}:", choice.key))) {
      lines[i] = entry;
      return;
    }
  }
  insert(lines, software.first + 1, entry);
}

}  // namespace

std::string with_learned(const std::string& text, const RunFit& fit, std::string_view citation) {
  if (citation.find_first_of("\"\\\n") != std::string_view::npos) {
    throw Error("the runs' name has a quote or a backslash, which the file cannot hold", "rename the file of runs");
  }
  std::vector<std::string> lines = lines_of(text);
  if (const Section old = section_of(lines, "learned"); old.found()) erase(lines, old);
  cite(lines, citation);
  for (const LearnedChoice& choice : fit.choices) {
    if (choice.before != choice.after) choose(lines, choice);
  }
  while (!lines.empty() && lines.back().empty()) lines.pop_back();
  std::string extended = fmt::format("{}\n\n{}", fmt::join(lines, "\n"), learned_section(fit, key));
  // What is written is what is read: never a file that the next command refuses.
  static_cast<void>(parse_coefficients(extended, "the coefficients to be written"));
  return extended;
}

}  // namespace ddl
