#include "core/csv.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <system_error>
#include <unordered_set>

#include <fmt/format.h>

#include "core/error.hpp"
#include "core/suggest.hpp"

namespace ddl {
namespace {

/// Parses a text as a number. Empty unless the whole text is a number that T can represent.
template <class T>
std::optional<T> parse_number(std::string_view text) {
  T value{};
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// Returns the position after the line break at `at`. Returns `at` if there is no line break.
std::size_t skip_line_break(std::string_view text, std::size_t at) {
  if (text.substr(at).starts_with("\r\n")) return at + 2;
  return text.substr(at).starts_with('\n') ? at + 1 : at;
}

/// Returns the position after all blank lines that start at `at`.
std::size_t skip_blank_lines(std::string_view text, std::size_t at) {
  while (at < text.size()) {
    const std::size_t content = std::min(text.find_first_not_of(" \t", at), text.size());
    const std::size_t next = skip_line_break(text, content);
    if (next == content && content < text.size()) return at;
    at = next;
  }
  return at;
}

}  // namespace

CsvTable CsvTable::parse(std::string text, std::string origin) {
  CsvTable table{SourceText(std::move(text), std::move(origin))};
  const std::string& source = table.source_.text();
  std::size_t at = skip_blank_lines(source, 0);
  if (at == source.size()) table.fail_at(0, "the file is empty", "the first line names the columns");
  table.set_columns(table.read_row(at));
  for (at = skip_blank_lines(source, at); at < source.size(); at = skip_blank_lines(source, at)) {
    Row row = table.read_row(at);
    if (row.size() != table.columns_.size()) {
      const Cell& place = row.size() > table.columns_.size() ? row[table.columns_.size()] : row.front();
      table.fail_at(place.offset,
                    fmt::format("this row has {} cells, but there are {} columns", row.size(), table.columns_.size()),
                    "put a cell that contains a comma into \"quotes\"");
    }
    table.rows_.push_back(std::move(row));
  }
  return table;
}

CsvTable CsvTable::load(const std::string& path) { return parse(read_file(path, max_bytes), path); }

/// Reads a row, and sets `at` to the position after its line break.
CsvTable::Row CsvTable::read_row(std::size_t& at) const {
  const std::string& source = source_.text();
  Row row;
  while (true) {
    if (at < source.size() && source[at] == '"') {
      row.push_back(read_quoted(at));
    } else {
      const std::size_t end = std::min(source.find_first_of(",\"\r\n", at), source.size());
      if (end < source.size() && source[end] == '"') {
        fail_at(end, "a quote inside an unquoted cell",
                "put the whole cell into \"quotes\" and double the quotes inside it");
      }
      row.push_back({.text = source.substr(at, end - at), .offset = at});
      at = end;
    }
    if (row.back().text.size() > max_cell) {
      fail_at(row.back().offset, fmt::format("a cell of more than {} characters", max_cell), {});
    }
    if (at == source.size() || source[at] != ',') {
      at = skip_line_break(source, at);
      return row;
    }
    ++at;
  }
}

/// Reads a quoted cell and sets `at` to the comma or line break after it.
CsvTable::Cell CsvTable::read_quoted(std::size_t& at) const {
  const std::string& source = source_.text();
  Cell cell{.text = {}, .offset = at};
  while (true) {
    const std::size_t quote_at = source.find('"', at + 1);
    if (quote_at == std::string::npos)
      fail_at(cell.offset, "this quote is never closed", "a quote inside a quoted cell is doubled: \"\"");
    cell.text += source.substr(at + 1, quote_at - at - 1);
    at = quote_at + 1;
    if (at == source.size() || source[at] != '"') break;
    cell.text += '"';
  }
  if (at < source.size() && source[at] != ',' && skip_line_break(source, at) == at) {
    fail_at(at, "text after the end of a quoted cell", "a quote inside a quoted cell is doubled: \"\"");
  }
  return cell;
}

void CsvTable::set_columns(const Row& header) {
  header_offset_ = header.front().offset;
  std::unordered_set<std::string_view> names;
  for (const Cell& cell : header) {
    if (cell.text.empty()) fail_at(cell.offset, "a column has no name", "the first line names the columns");
    if (!names.insert(cell.text).second) fail_at(cell.offset, fmt::format("two columns are named {}", quote(cell.text)), {});
    columns_.push_back(cell.text);
    column_offsets_.push_back(cell.offset);
  }
}

std::optional<std::size_t> CsvTable::find_column(std::string_view name) const {
  const auto found = std::find(columns_.begin(), columns_.end(), name);
  if (found == columns_.end()) return std::nullopt;
  return static_cast<std::size_t>(found - columns_.begin());
}

std::size_t CsvTable::column(std::string_view name) const {
  if (const auto found = find_column(name)) return *found;
  const auto meant = nearest(name, columns_);
  fail_at(header_offset_, fmt::format("the column {} is missing", quote(name)),
          meant ? fmt::format("rename the column {}", quote(*meant)) : "add the column to this line, and its values");
}

void CsvTable::rename_column(std::string_view former, std::string_view now) {
  const auto column = find_column(former);
  if (column && !find_column(now)) columns_[*column] = now;
}

void CsvTable::only_columns(std::span<const std::string_view> names) const {
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    if (std::find(names.begin(), names.end(), columns_[i]) != names.end()) continue;
    fail_at(column_offsets_[i], fmt::format("unknown column {}", quote(columns_[i])), suggest(columns_[i], names));
  }
}

std::optional<double> CsvTable::number(std::size_t row, std::size_t column) const {
  const std::string& text = cell(row, column);
  if (text.empty()) return std::nullopt;
  const auto value = parse_number<double>(text);
  if (!value || !std::isfinite(*value)) {
    fail(row, column, fmt::format("{} is not a finite number", quote(text)),
         fmt::format("column {} must contain numbers", quote(columns_[column])));
  }
  return value;
}

std::optional<std::int64_t> CsvTable::positive_integer(std::size_t row, std::size_t column) const {
  const std::string& text = cell(row, column);
  if (text.empty()) return std::nullopt;
  const auto value = parse_number<std::int64_t>(text);
  if (!value || *value <= 0) {
    fail(row, column, fmt::format("{} is not a positive whole number", quote(text)),
         fmt::format("column {} must contain positive whole numbers", quote(columns_[column])));
  }
  return value;
}

Error CsvTable::column_error(std::size_t column, const std::string& message, const std::string& hint) const {
  return source_.error(column_offsets_[column], message, hint);
}

void CsvTable::fail(std::size_t row, std::size_t column, const std::string& message, const std::string& hint) const {
  fail_at(rows_[row][column].offset, message, hint);
}

void CsvTable::fail_at(std::size_t offset, const std::string& message, const std::string& hint) const {
  throw source_.error(offset, message, hint);
}

std::string csv_cell(std::string_view text) {
  // A text needs quotes if it starts or ends with a space: some readers drop these spaces, and a
  // line of spaces would be a blank line. A text that starts with a byte-order mark needs quotes,
  // because readers drop this mark at the start of a file.
  constexpr std::string_view blanks = " \t";
  const bool padded = !text.empty() && (blanks.find(text.front()) != std::string_view::npos ||
                                        blanks.find(text.back()) != std::string_view::npos);
  const bool marked = text.starts_with("\xef\xbb\xbf");
  if (!padded && !marked && text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(text);
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + '"';
}

}  // namespace ddl
