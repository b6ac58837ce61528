// Fuzzes any CSV text: rewritten cells are parsed to the same values.

#include <cmath>

#include "core/csv.hpp"
#include "tests/fuzz/fuzzer.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto table = ddl::result_of([&] { return ddl::CsvTable::parse(ddl::text_of(data, size), "any.csv"); });
  if (!table) return 0;
  std::string written;
  const auto write = [&](const std::string& cell, std::size_t column) {
    // An empty cell alone on its line would be a blank line.
    written += cell.empty() ? "\"\"" : ddl::csv_cell(cell);
    written += column + 1 < table->columns().size() ? ',' : '\n';
  };
  for (std::size_t column = 0; column < table->columns().size(); ++column) write(table->columns()[column], column);
  for (std::size_t row = 0; row < table->rows(); ++row) {
    for (std::size_t column = 0; column < table->columns().size(); ++column) {
      write(table->cell(row, column), column);
      ddl::succeeds([&] {
        const auto number = table->number(row, column);
        ddl::require(!number || std::isfinite(*number), "a number that is not finite");
      });
      ddl::succeeds(
          [&] { ddl::require(table->positive_integer(row, column).value_or(1) > 0, "a count that is not positive"); });
    }
  }
  const auto again = ddl::result_of([&] { return ddl::CsvTable::parse(written, "written.csv"); });
  ddl::require(again && again->rows() == table->rows() && again->columns() == table->columns(),
               "a table is not read as it was written");
  for (std::size_t row = 0; row < table->rows(); ++row) {
    for (std::size_t column = 0; column < table->columns().size(); ++column) {
      ddl::require(again->cell(row, column) == table->cell(row, column), "a cell is not read as it was written");
    }
  }
  return 0;
}
