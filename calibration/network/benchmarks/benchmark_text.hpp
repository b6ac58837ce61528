#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.hpp"
#include "core/source_text.hpp"

namespace ddl {

/// Upper limit of numbers in a benchmark: bytes, elements, microseconds or bandwidth.
inline constexpr double benchmark_number_limit = 1e18;

/// A word of a benchmark's output, and its position in the file.
struct BenchmarkWord {
  std::string_view text;
  std::size_t offset = 0;
};

/// One line of a benchmark's output, without its line break and without what launchers and loggers print before each line.
struct BenchmarkLine {
  std::string_view text;
  std::size_t offset = 0;
  std::size_t number = 0;  ///< counted from 1
  bool ended = true;       ///< whether the line ends in a line break; the last line may lack one

  /// The words of the line, which spaces separate.
  [[nodiscard]] std::vector<BenchmarkWord> words() const;
  /// The names of columns in a header, which two or more spaces separate. One space is part of a name.
  [[nodiscard]] std::vector<std::string_view> columns() const;
  /// The texts between separators, without spaces around them.
  [[nodiscard]] std::vector<BenchmarkWord> cells(char separator) const;
  /// The words after the '#' of a comment, if the line starts with one.
  [[nodiscard]] std::vector<BenchmarkWord> words_of_comment() const;
};

/// The output of a benchmark, in lines.
class BenchmarkText {
 public:
  /// Maximum number of lines of a file.
  static constexpr std::size_t most_lines = 1'000'000;

  /// Throws Error for invalid text (SourceText), and for more than `most_lines` lines.
  BenchmarkText(std::string text, std::string origin);
  /// The lines [first, last) of this text, with their numbers and positions in the file.
  [[nodiscard]] BenchmarkText part(std::size_t first, std::size_t last) const;

  [[nodiscard]] const std::vector<BenchmarkLine>& lines() const { return lines_; }
  [[nodiscard]] const std::string& origin() const { return source_->origin(); }
  [[nodiscard]] Error error(std::size_t offset, std::string_view message, std::string hint = {}) const {
    return source_->error(offset, message, std::move(hint));
  }
  /// A number from zero to `benchmark_number_limit`. Throws Error that points to the word, for anything else. `what`: the
  /// name of the number in the message.
  [[nodiscard]] double number(const BenchmarkWord& word, std::string_view what) const;
  /// Throws Error if the last line has no line break and is shorter than the previous row. Benchmarks align their columns to
  /// the right, so a shorter line is truncated.
  void refuse_cut_row(const BenchmarkLine& line, const BenchmarkLine& before) const;
  /// Throws Error that points to the end of a row unless it has as many cells as the table has columns.
  void refuse_other_cells(const BenchmarkLine& line, std::size_t cells, std::size_t columns) const;

 private:
  BenchmarkText() = default;

  std::shared_ptr<const SourceText> source_;  ///< lines refer to its text
  std::vector<BenchmarkLine> lines_;
};

/// Whether this word is a number without a sign, as at the start of a row.
[[nodiscard]] bool is_digits(std::string_view word);
/// Half a unit of the last printed digit of a number, which is the maximum rounding error.
[[nodiscard]] double rounding_of(std::string_view number);

}  // namespace ddl
