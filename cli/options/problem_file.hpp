#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.hpp"
#include "core/source_text.hpp"

namespace ddl {

/// Returns the line of a problem (a kernel and its sizes) in the spelling of profiles. Throws Error
/// with a position in the line if the line is not a problem.
[[nodiscard]] std::string checked_problem(const std::string& line, const std::string& origin, int line_number);

/// The problems in a file, one per line. Blank lines and lines that begin with # are ignored.
class ProblemFile {
 public:
  /// Throws Error with a position in the file if a line is not a problem, or if the file has no problems.
  explicit ProblemFile(const std::string& path);

  /// Returns the lines in the spelling of profiles.
  [[nodiscard]] const std::vector<std::string>& problems() const& { return problems_; }
  const std::vector<std::string>& problems() && = delete;
  /// Returns an error for the caller to throw. The error points at the word in the problem's line
  /// that begins with `word`. If no word does, the error points at the line's first word.
  [[nodiscard]] Error error(std::size_t problem, std::string_view word, std::string_view message,
                            std::string hint = {}) const;

 private:
  SourceText source_;
  std::vector<std::string> problems_;
  std::vector<std::size_t> starts_;  ///< position of the first word of each line, in the text
};

}  // namespace ddl
