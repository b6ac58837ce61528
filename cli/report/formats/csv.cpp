
#include "core/csv.hpp"

#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "cli/report/formats/format.hpp"
#include "cli/report/formats/whole_bytes.hpp"
#include "core/source_text.hpp"

namespace ddl {
namespace {

using Json = nlohmann::ordered_json;

std::string cell_text(const Json& value) {
  if (value.is_null()) return {};
  if (value.is_string()) return visible_lines(value.get<std::string>());
  if (!value.is_array()) return value.dump();
  std::vector<std::string> elements;
  for (const Json& element : value) elements.push_back(cell_text(element));
  return fmt::format("{}", fmt::join(elements, " "));
}

}  // namespace

std::string csv_of(const Json& values) {
  const Json objects = with_whole_bytes(values);
  // Rows may leave out keys that other rows have.
  std::vector<std::string> keys;
  std::set<std::string> known;
  for (const Json& object : objects) {
    for (const auto& [key, value] : object.items()) {
      if (known.insert(key).second) keys.push_back(key);
    }
  }
  std::string out;
  const auto add_row = [&](auto cell) {
    std::vector<std::string> cells;
    for (const std::string& key : keys) cells.push_back(csv_cell(cell(key)));
    out += fmt::format("{}\n", fmt::join(cells, ","));
  };
  if (!keys.empty()) add_row([](const std::string& key) { return key; });
  for (const Json& object : objects) {
    add_row([&](const std::string& key) {
      const auto found = object.find(key);
      return found == object.end() ? std::string() : cell_text(*found);
    });
  }
  return out;
}

std::string csv_format(const Report& report, const Style& /*style*/) {
  const Json rows = report.rows();
  return rows.is_string() ? rows.get<std::string>() : csv_of(rows);
}

}  // namespace ddl
