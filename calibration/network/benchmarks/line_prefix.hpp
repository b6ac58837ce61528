#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace ddl {

/// Replaces the codes by which programs color a terminal (ESC [ … m, and others) by spaces. The length stays the same, so
/// that positions stay valid.
[[nodiscard]] std::string without_terminal_codes(std::string text);

/// Replaces the carriage returns that begin a line again, as progress bars do, by spaces, and returns their positions.
[[nodiscard]] std::vector<std::size_t> blank_restarts(std::string& text);

/// Replaces the labels that mpiexec -l prints within a line by spaces, if the benchmark writes the line in parts:
/// `0[0]  1.5`.
[[nodiscard]] std::string without_inner_labels(std::string text);

/// Length of the labels that launchers and loggers print before each line: `0: ` (srun -l), `[1,0]<stdout>:` (mpirun
/// --tag-output), `[default0]:` (torchrun --tee), `[0] ` (mpiexec -l), and the date, the time of day, or both.
[[nodiscard]] std::size_t known_label_length(std::string_view line);

/// Prefixes of unknown form, such as the name of a container: learned from lines whose beginning is known, such as the line
/// that names the columns. A line has the same prefix if only the digits and the number of spaces differ.
class LinePrefixes {
 public:
  /// Learns the prefix of a line in which a benchmark's known text does not come first.
  void learn(std::string_view line);
  [[nodiscard]] bool empty() const { return shapes_.empty(); }
  /// Length of the longest learned prefix of a line; 0 if it has none.
  [[nodiscard]] std::size_t length(std::string_view line) const;

 private:
  std::vector<std::string> shapes_;  ///< digits are written as one '0', spaces as one ' '
};

}  // namespace ddl
