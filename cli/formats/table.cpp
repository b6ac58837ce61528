#include "cli/formats/table.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "core/csv.hpp"
#include "core/units.hpp"

namespace ddl {
namespace {

using Json = nlohmann::ordered_json;

std::string cell_text(const Json& value) {
  if (value.is_null()) return {};
  if (value.is_string()) return value.get<std::string>();
  if (!value.is_array()) return value.dump();
  std::vector<std::string> elements;
  for (const Json& element : value) elements.push_back(cell_text(element));
  return fmt::format("{}", fmt::join(elements, " "));
}

}  // namespace

std::size_t display_width(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

std::string Table::text(std::string_view indent) const {
  std::vector<std::size_t> widths;
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    std::size_t width = display_width(columns_[c].heading);
    for (const auto& row : rows_) width = std::max(width, display_width(row[c]));
    widths.push_back(width);
  }
  std::string out;
  const auto line = [&](auto cell) {
    std::string built(indent);
    for (std::size_t c = 0; c < columns_.size(); ++c) {
      const std::string& content = cell(c);
      const std::string padding(widths[c] - display_width(content), ' ');
      if (c > 0) built += "  ";
      built += columns_[c].align == Align::right ? padding + content : content + padding;
    }
    built.erase(built.find_last_not_of(' ') + 1);
    out += built + '\n';
  };
  line([&](std::size_t c) -> const std::string& { return columns_[c].heading; });
  for (const auto& row : rows_) line([&](std::size_t c) -> const std::string& { return row[c]; });
  return out;
}

std::string csv_of(const Json& objects) {
  std::string out;
  const auto add_row = [&](const Json& object, auto cell) {
    std::vector<std::string> cells;
    for (const auto& [key, value] : object.items()) cells.push_back(csv_cell(cell(key, value)));
    out += fmt::format("{}\n", fmt::join(cells, ","));
  };
  if (!objects.empty()) add_row(objects.front(), [](const std::string& key, const Json&) { return key; });
  for (const Json& object : objects) add_row(object, [](const std::string&, const Json& value) { return cell_text(value); });
  return out;
}

std::string count_text(std::int64_t count, std::string_view thing) {
  return with_thousands(count).append(" ").append(thing).append(count == 1 ? "" : "s");
}

std::string whole_text(double count) {
  return count < 0x1p63 ? with_thousands(static_cast<std::int64_t>(count)) : fmt::format("{:.4g}", count);
}

std::string wrap_text(std::string_view text, std::size_t width, std::string_view indent) {
  std::string out;
  std::size_t column = 0;
  while (!text.empty()) {
    const std::size_t space = text.find(' ');
    const std::string_view word = text.substr(0, space);
    text.remove_prefix(space == std::string_view::npos ? text.size() : space + 1);
    const std::size_t length = display_width(word);
    if (column > 0 && column + 1 + length > width) {
      out += '\n';
      out += indent;
      column = display_width(indent);
    } else if (column > 0) {
      out += ' ';
      ++column;
    }
    out += word;
    column += length;
  }
  return out;
}

std::string share_text(double share) { return fmt::format("{:.0f} %", share * 100); }

}  // namespace ddl
