#include "core/yaml_section.hpp"

#include <algorithm>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <yaml-cpp/yaml.h>

#include "core/error.hpp"
#include "core/source_text.hpp"
#include "core/yaml_node.hpp"

namespace ddl {
namespace {

using Lines = std::vector<std::string>;

/// Lines [first, last) of a file.
struct Range {
  std::size_t first = 0, last = 0;
};

Lines lines_of(const std::string& text) {
  Lines lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

std::string text_of(const Lines& lines) { return fmt::format("{}\n", fmt::join(lines, "\n")); }

void replace(Lines& lines, Range range, const Lines& by) {
  const auto begin = lines.begin();
  lines.erase(begin + static_cast<std::ptrdiff_t>(range.first), begin + static_cast<std::ptrdiff_t>(range.last));
  lines.insert(lines.begin() + static_cast<std::ptrdiff_t>(range.first), by.begin(), by.end());
}

std::size_t line_of(const YamlNode& node) { return static_cast<std::size_t>(node.line() - 1); }
std::size_t margin_of(const YamlNode& node) { return static_cast<std::size_t>(node.column() - 1); }

bool is_in_brackets(const YamlNode& map, const Lines& lines) { return lines[line_of(map)].at(margin_of(map)) == '{'; }

/// Returns the lines of the key `name` in a map that ends with the line before `end`. Comments
/// directly above the next key belong to the next key.
std::optional<Range> find_entry(const YamlNode& map, const std::string& name, const Lines& lines, std::size_t end) {
  const auto entries = map.entries();
  const auto found = std::find_if(entries.begin(), entries.end(), [&](const auto& one) { return one.first.text() == name; });
  if (found == entries.end()) return std::nullopt;
  const auto next = std::next(found);
  Range range{line_of(found->first), next == entries.end() ? end : line_of(next->first)};
  const auto is_between = [&](const std::string& line) {
    const std::size_t letter = line.find_first_not_of(" \t\r");
    return letter == std::string::npos || (line[letter] == '#' && letter <= margin_of(map));
  };
  while (range.last > range.first + 1 && is_between(lines[range.last - 1])) --range.last;
  return range;
}

/// Rewrites the map of key `name`, which is in brackets, with one entry per line. Returns the new lines of the key.
Lines in_lines(const Lines& lines, Range range, const std::string& name) {
  YAML::Node section = YAML::Load(text_of(Lines(lines.begin() + static_cast<std::ptrdiff_t>(range.first),
                                                lines.begin() + static_cast<std::ptrdiff_t>(range.last))));
  section[name].SetStyle(YAML::EmitterStyle::Block);
  YAML::Emitter out;
  out << section;
  return lines_of(out.c_str());
}

}  // namespace

std::string replace_section(const std::string& file, const std::vector<std::string>& path, const std::string& section) {
  const std::string text = SourceText(file, "the file to be extended").text();
  Lines lines = lines_of(text);
  YamlNode map = YamlNode::parse(text, "the file to be extended");
  Range within{0, lines.size()};
  for (std::size_t depth = 0; depth < path.size(); ++depth) {
    if (is_in_brackets(map, lines)) {
      if (depth == 0) map.fail("a file in brackets cannot be extended", "write each key on a line of its own");
      replace(lines, within, in_lines(lines, within, path[depth - 1]));
      return replace_section(text_of(lines), path, section);
    }
    std::optional<Range> range = find_entry(map, path[depth], lines, within.last);
    const bool is_last = depth + 1 == path.size();
    const auto is_empty = [](const YamlNode& node) { return node.is_null() || (node.is_map() && node.entries().empty()); };
    if (range && !is_last && !is_empty(map.at(path[depth]))) {
      within = *range;
      map = map.at(path[depth]);
      continue;
    }
    Lines added = lines_of(section);
    std::size_t margin = margin_of(map);
    for (std::size_t parent = path.size() - 1; parent-- > depth;) {
      for (std::string& line : added) line.insert(0, "  ");
      added.insert(added.begin(), path[parent] + ":");
    }
    for (std::string& line : added) line.insert(0, std::string(margin, ' '));
    if (!range && depth > 0) range = Range{within.first + 1, within.first + 1};
    if (!range) {
      while (!lines.empty() && lines.back().find_first_not_of(" \t\r") == std::string::npos) lines.pop_back();
      lines.emplace_back();
      range = Range{lines.size(), lines.size()};
    }
    replace(lines, *range, added);
    break;
  }
  return text_of(lines);
}

}  // namespace ddl
