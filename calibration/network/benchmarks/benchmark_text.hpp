#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.hpp"
#include "core/source_text.hpp"

namespace ddl {

/// No number of a benchmark is above: of bytes, elements, microseconds or bandwidth.
inline constexpr double benchmark_number_limit = 1e18;

/// A word of a benchmark's output, and where it starts in the file.
struct BenchmarkWord {
  std::string_view text;
  std::size_t offset = 0;
};

/// One line of a benchmark's output, without its line break.
struct BenchmarkLine {
  std::string_view text;
  std::size_t offset = 0;
  std::size_t number = 0;  ///< from 1
  bool ended = true;       ///< by a line break: the last line of a file need not be

  /// Divided at blanks.
  [[nodiscard]] std::vector<BenchmarkWord> words() const;
  /// The same after the '#' of a comment, if it begins with one.
  [[nodiscard]] std::vector<BenchmarkWord> words_of_comment() const;
};

/// What a benchmark printed, in lines.
class BenchmarkText {
 public:
  /// Most lines of a file.
  static constexpr std::size_t most_lines = 1'000'000;

  /// Refuses what is no text (SourceText), and more than `most_lines`.
  BenchmarkText(std::string text, std::string origin);
  // Lines look into the text.
  BenchmarkText(const BenchmarkText&) = delete;
  BenchmarkText& operator=(const BenchmarkText&) = delete;

  [[nodiscard]] const std::vector<BenchmarkLine>& lines() const { return lines_; }
  [[nodiscard]] const std::string& origin() const { return source_.origin(); }
  [[nodiscard]] Error error(std::size_t offset, std::string_view message, std::string hint = {}) const {
    return source_.error(offset, message, std::move(hint));
  }
  /// A number from zero to `benchmark_number_limit`; an Error placed at the word that calls it a `what` otherwise.
  [[nodiscard]] double number(const BenchmarkWord& word, std::string_view what) const;
  /// Refuses a line that ends with the file and is shorter than the row before it: both tools set their columns to the
  /// right, so it was cut.
  void refuse_cut_row(const BenchmarkLine& line, const BenchmarkLine& before) const;

 private:
  SourceText source_;
  std::vector<BenchmarkLine> lines_;
};

/// Whether a row of figures begins with this word.
[[nodiscard]] bool is_digits(std::string_view word);
/// The digits after the point of a number as it is printed: half a unit of the last is how far it may be rounded.
[[nodiscard]] double rounding_of(std::string_view number);

}  // namespace ddl
