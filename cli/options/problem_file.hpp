#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.hpp"
#include "core/source_text.hpp"

namespace ddl {

/// The line of a problem as profiles have it, or an Error placed in it.
[[nodiscard]] std::string checked_problem(const std::string& line, const std::string& origin, int line_number);

/// The problems in a file, one a line; blank lines and those that begin with # say nothing.
class ProblemFile {
 public:
  /// Throws Error, placed in the file, on a line that is no problem, and where there is none.
  explicit ProblemFile(const std::string& path);

  /// As profiles have them.
  [[nodiscard]] const std::vector<std::string>& problems() const& { return problems_; }
  const std::vector<std::string>& problems() && = delete;
  /// An error for the caller to throw, placed at the word of a problem's line that begins so, else at the line's first word.
  [[nodiscard]] Error error(std::size_t problem, std::string_view word, std::string_view message,
                            std::string hint = {}) const;

 private:
  SourceText source_;
  std::vector<std::string> problems_;
  std::vector<std::size_t> starts_;  ///< of their lines' first words, in the text
};

}  // namespace ddl
