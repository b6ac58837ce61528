#include "cli/options/problem_file.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "model_zoo/network/problem.hpp"

namespace ddl {

std::string checked_problem(const std::string& line, const std::string& origin, int line_number) {
  try {
    if (is_fresh_memory_problem(line)) return print_problem(parse_fresh_memory_problem(line, origin));
    return is_update_problem(line) ? print_problem(parse_update_problem(line, origin))
                                   : print_problem(parse_problem(line, origin));
  } catch (const Error& error) {
    // The line was parsed alone, so the error refers to line 1. The line number is corrected here.
    std::string message = error.what();
    const std::string start = origin + ":1:";
    if (message.starts_with(start)) message = fmt::format("{}:{}:{}", origin, line_number, message.substr(start.size()));
    throw Error(message, error.hint());
  }
}

ProblemFile::ProblemFile(const std::string& path) : source_(read_file(path), path) {
  const std::string& text = source_.text();
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    std::string line = text.substr(at, end - at);
    if (line.ends_with('\r')) line.pop_back();
    const std::size_t first = line.find_first_not_of(" \t");
    if (first != std::string::npos && line[first] != '#') {
      problems_.push_back(checked_problem(line, path, source_.place(at).line));
      starts_.push_back(at + first);
    }
    at = end + 1;
  }
  if (problems_.empty())
    throw source_.error(0, "this file lists no kernels", "write one kernel per line, as 'recommend --missing' does");
}

Error ProblemFile::error(std::size_t problem, std::string_view word, std::string_view message, std::string hint) const {
  const std::size_t start = starts_[problem];
  const std::string_view text = source_.text();
  const std::string_view line = text.substr(start, text.find('\n', start) - start);
  std::size_t at = 0;
  while (at < line.size() && !line.substr(at).starts_with(word)) {
    at = std::min(line.find_first_of(" \t", at), line.size());
    at = std::min(line.find_first_not_of(" \t", at), line.size());
  }
  return source_.error(start + (at < line.size() ? at : 0), message, std::move(hint));
}

}  // namespace ddl
