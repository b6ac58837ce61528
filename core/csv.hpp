#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/source_text.hpp"

namespace ddl {

/// A table of text cells with named columns (RFC 4180: quoted cells, doubled quotes, CRLF, line breaks inside quotes, an
/// optional byte-order mark). Errors report `origin:line:col` with the line and a caret.
class CsvTable {
 public:
  /// Maximum size of a file in bytes. The parsed cells take some twenty times as much memory as the file.
  static constexpr std::size_t max_bytes = std::size_t{16} << 20U;
  /// Maximum length of a cell in bytes.
  static constexpr std::size_t max_cell = 10'000;

  /// Parses the text of a CSV file and skips blank lines. `origin`: the name of the file in errors. Throws Error for an
  /// empty file, an empty or duplicate column name, a row with more or fewer cells than the header, a quote that is never
  /// closed or appears inside an unquoted cell, a cell longer than `max_cell`, and text that SourceText refuses.
  [[nodiscard]] static CsvTable parse(std::string text, std::string origin);
  [[nodiscard]] static CsvTable load(const std::string& path);

  [[nodiscard]] std::size_t rows() const { return rows_.size(); }
  [[nodiscard]] const std::vector<std::string>& columns() const { return columns_; }
  [[nodiscard]] std::optional<std::size_t> find_column(std::string_view name) const;
  /// Index of a column. Throws Error with "did you mean" if the file has no column of that name.
  [[nodiscard]] std::size_t column(std::string_view name) const;
  /// Throws Error if the file has a column that is not in `names`. The error points to the column's
  /// name, and suggests a known name.
  void only_columns(std::span<const std::string_view> names) const;
  /// Renames the column `former`, the name in files of older versions, to `now`. Does nothing if
  /// the file already has a column `now`.
  void rename_column(std::string_view former, std::string_view now);
  /// Line of the file on which a row starts, counted from 1.
  [[nodiscard]] int line(std::size_t row) const { return source_.place(rows_[row].front().offset).line; }

  [[nodiscard]] const std::string& cell(std::size_t row, std::size_t column) const { return rows_[row][column].text; }
  /// The cell as a finite number; nullopt for an empty cell. Throws Error that points to the cell
  /// if the text is not a finite number.
  [[nodiscard]] std::optional<double> number(std::size_t row, std::size_t column) const;
  /// The cell as a positive whole number; nullopt for an empty cell. Throws Error that points to
  /// the cell if the text is not a positive whole number.
  [[nodiscard]] std::optional<std::int64_t> positive_integer(std::size_t row, std::size_t column) const;
  /// Returns an error that points to the name of a column, for the caller to throw.
  [[nodiscard]] Error column_error(std::size_t column, const std::string& message, const std::string& hint = {}) const;
  [[noreturn]] void fail(std::size_t row, std::size_t column, const std::string& message,
                         const std::string& hint = {}) const;

 private:
  struct Cell {
    std::string text;
    std::size_t offset = 0;  ///< position in the source; for a quoted cell, the position of the opening quote
  };
  using Row = std::vector<Cell>;
  explicit CsvTable(SourceText source) : source_(std::move(source)) {}
  [[nodiscard]] Row read_row(std::size_t& at) const;
  [[nodiscard]] Cell read_quoted(std::size_t& at) const;
  [[noreturn]] void fail_at(std::size_t offset, const std::string& message, const std::string& hint) const;
  void set_columns(const Row& header);

  SourceText source_;
  std::size_t header_offset_ = 0;
  std::vector<std::size_t> column_offsets_;
  std::vector<std::string> columns_;
  std::vector<Row> rows_;
};

/// Returns `text` as a CSV cell, in quotes if necessary.
[[nodiscard]] std::string csv_cell(std::string_view text);

}  // namespace ddl
