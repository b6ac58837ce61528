#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "cli/formats/table.hpp"

namespace ddl {

/// One named value of a row: a column of CSV, and a key of the row's object in JSON.
template <class Row>
struct Field {
  enum class Formats { both, json, csv };
  std::string name;
  std::function<nlohmann::ordered_json(const Row&)> value;
  std::string_view object{};  ///< in JSON, the name of the object within the row's that it belongs to; empty for none
  Formats formats = Formats::both;
};
template <class Row>
using Fields = std::vector<Field<Row>>;

template <class Row>
[[nodiscard]] nlohmann::ordered_json json_of(const Fields<Row>& fields, const Row& row) {
  nlohmann::ordered_json json;
  for (const Field<Row>& field : fields) {
    if (field.formats == Field<Row>::Formats::csv) continue;
    nlohmann::ordered_json& object = field.object.empty() ? json : json[std::string(field.object)];
    object[field.name] = field.value(row);
  }
  return json;
}

/// A row of CSV for csv_of. `row` null: all columns, and nothing in them.
template <class Row>
[[nodiscard]] nlohmann::ordered_json csv_row(const Fields<Row>& fields, const Row* row) {
  nlohmann::ordered_json cells;
  for (const Field<Row>& field : fields) {
    if (field.formats == Field<Row>::Formats::json) continue;
    cells[field.name] = row == nullptr ? nlohmann::ordered_json() : field.value(*row);
  }
  return cells;
}

template <class Row>
[[nodiscard]] std::string csv_of(const Fields<Row>& fields, const std::vector<Row>& rows) {
  nlohmann::ordered_json cells = nlohmann::ordered_json::array();
  for (const Row& row : rows) cells.push_back(csv_row(fields, &row));
  return csv_of(cells);
}

}  // namespace ddl
