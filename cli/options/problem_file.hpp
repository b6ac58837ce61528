#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.hpp"
#include "core/source_text.hpp"

namespace ddl {

/// The line of a problem in the format of profiles. Throws Error with a position in the line.
[[nodiscard]] std::string checked_problem(const std::string& line, const std::string& origin, int line_number);

/// The problems in a file, one per line. Blank lines and lines that begin with # are ignored.
class ProblemFile {
 public:
  /// Throws Error with a position in the file if a line is not a problem, or if the file has no problems.
  explicit ProblemFile(const std::string& path);

  /// The lines in the format of profiles.
  [[nodiscard]] const std::vector<std::string>& problems() const& { return problems_; }
  const std::vector<std::string>& problems() && = delete;
  /// Returns an error for the caller to throw. The error points at the word of the problem's line that begins with `word`,
  /// or at the line's first word if no word begins so.
  [[nodiscard]] Error error(std::size_t problem, std::string_view word, std::string_view message,
                            std::string hint = {}) const;

 private:
  SourceText source_;
  std::vector<std::string> problems_;
  std::vector<std::size_t> starts_;  ///< positions in the text of the first word of each line
};

}  // namespace ddl
