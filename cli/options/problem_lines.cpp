#include "cli/options/problem_lines.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "core/error.hpp"
#include "core/source_text.hpp"
#include "profiler/profile_file.hpp"

namespace ddl {

std::string checked_problem(const std::string& line, const std::string& origin, int line_number) {
  try {
    if (is_fresh_memory_problem(line)) return print_problem(parse_fresh_memory_problem(line, origin));
    return is_update_problem(line) ? print_problem(parse_update_problem(line, origin))
                                   : print_problem(parse_problem(line, origin));
  } catch (const Error& error) {
    // Alone it was the first line of all.
    std::string message = error.what();
    const std::string start = origin + ":1:";
    if (message.starts_with(start)) message = fmt::format("{}:{}:{}", origin, line_number, message.substr(start.size()));
    throw Error(message, error.hint());
  }
}

std::vector<CountedProblem> problems_in(const std::string& path) {
  const SourceText source(read_file(path), path);
  const std::string& text = source.text();
  std::vector<CountedProblem> problems;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    std::string line = text.substr(at, end - at);
    if (line.ends_with('\r')) line.pop_back();
    const std::size_t first = line.find_first_not_of(" \t");
    if (first != std::string::npos && line[first] != '#') {
      problems.push_back({checked_problem(line, path, source.place(at).line), 0});
    }
    at = end + 1;
  }
  if (problems.empty())
    throw source.error(0, "there is no problem in this file", "one a line, such as those of 'recommend --missing'");
  return problems;
}

}  // namespace ddl
