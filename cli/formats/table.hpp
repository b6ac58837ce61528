#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace ddl {

/// A text table whose columns are as wide as their widest cell. Columns of figures are set to the right.
class Table {
 public:
  enum class Align { left, right };
  struct Column {
    std::string heading;
    Align align = Align::right;
  };
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}
  void add(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  [[nodiscard]] std::string text(std::string_view indent = "  ") const;
  [[nodiscard]] bool empty() const { return rows_.empty(); }

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

/// Flat objects with the same keys as CSV, a column for each key; the elements of a list are joined by blanks, null is
/// empty.
[[nodiscard]] std::string csv_of(const nlohmann::ordered_json& objects);
/// Columns a text takes on a terminal: UTF-8 code points, which is right for the letters and signs we print.
[[nodiscard]] std::size_t display_width(std::string_view text);
/// `1 GPU`, `1,024 GPUs`.
[[nodiscard]] std::string count_text(std::int64_t count, std::string_view thing);
/// `1,281,167`; four digits and a power of ten where it is beyond a 64-bit number.
[[nodiscard]] std::string whole_text(double count);
/// Breaks text into lines of at most `width` columns between words; lines after the first begin with `indent`.
[[nodiscard]] std::string wrap_text(std::string_view text, std::size_t width, std::string_view indent);

/// `12 %`, of a share of one.
[[nodiscard]] std::string share_text(double share);

}  // namespace ddl
