#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "core/version.hpp"
#include "model_zoo/values/tensor_shape.hpp"

namespace ddl {

using Json = nlohmann::ordered_json;

/// A named value of a row. Each Field is a column in CSV, and a key of the row's object in JSON. A row whose value is
/// discarded (no_key) has no such key.
template <class Row>
struct Field {
  enum class Formats { both, json, csv };
  std::string name;
  std::function<Json(const Row&)> value;
  std::string_view object{};  ///< in JSON, the nested object that contains the value; empty for none
  Formats formats = Formats::both;
};

/// All fields of a row in JSON and CSV.
template <class Row>
struct Fields : std::vector<Field<Row>> {
  using Formats = typename Field<Row>::Formats;
  using std::vector<Field<Row>>::vector;

  /// Adds a field. `value`: a function that converts a row to a value that JSON can represent.
  template <class Value>
  void add(std::string name, Value value, std::string_view object = {}, Formats formats = Formats::both) {
    const auto as_json = [value = std::move(value)](const Row& row) { return Json(value(row)); };
    this->push_back({std::move(name), as_json, object, formats});
  }
  template <class Value>
  void add_json(std::string name, Value value, std::string_view object = {}) {
    add(std::move(name), std::move(value), object, Formats::json);
  }
  template <class Value>
  void add_csv(std::string name, Value value) {
    add(std::move(name), std::move(value), {}, Formats::csv);
  }
};

template <class Row>
[[nodiscard]] Json json_of(const Fields<Row>& fields, const Row& row) {
  Json json;
  for (const Field<Row>& field : fields) {
    if (field.formats == Field<Row>::Formats::csv) continue;
    Json value = field.value(row);
    if (value.is_discarded()) continue;
    Json& object = field.object.empty() ? json : json[std::string(field.object)];
    object[field.name] = std::move(value);
  }
  return json;
}

/// Returns the value of a field whose key is left out of a row.
[[nodiscard]] inline Json no_key() { return Json(Json::value_t::discarded); }

/// Returns a row as a flat object. If `row` is null, the object has all fields with null values.
template <class Row>
[[nodiscard]] Json flat_row(const Fields<Row>& fields, const Row* row) {
  Json cells;
  for (const Field<Row>& field : fields) {
    if (field.formats == Field<Row>::Formats::json) continue;
    cells[field.name] = row == nullptr ? Json() : field.value(*row);
  }
  return cells;
}

template <class Row>
[[nodiscard]] Json flat_rows(const Fields<Row>& fields, const std::vector<Row>& rows) {
  Json objects = Json::array();
  for (const Row& row : rows) objects.push_back(flat_row(fields, &row));
  return objects;
}

/// Returns the channels and extents of a tensor's shape as a JSON list.
[[nodiscard]] inline Json shape_to_json(const TensorShape& shape) {
  Json json = Json::array({shape.channels});
  for (int d = 0; d < shape.rank; ++d) json.push_back(shape.extent[static_cast<std::size_t>(d)]);
  return json;
}

/// Returns the first keys of a JSON report: schema, version and commit.
[[nodiscard]] inline Json json_head() { return {{"schema", 1}, {"version", version()}, {"commit", commit()}}; }

/// Returns the value, or JSON's null if there is no value. For a quantity, returns the number in its base unit.
template <class Value>
[[nodiscard]] Json or_null(const std::optional<Value>& value) {
  if (!value) return nullptr;
  if constexpr (requires { value->value(); }) {
    return value->value();
  } else {
    return *value;
  }
}

/// Returns the text, or JSON's null if the text is empty.
[[nodiscard]] inline Json or_null(std::string_view text) { return text.empty() ? Json(nullptr) : Json(text); }

/// Applies `of` to each element of the range. Returns a JSON list of the results.
template <class Range, class Of>
[[nodiscard]] Json json_list(const Range& range, const Of& of) {
  Json list = Json::array();
  for (const auto& each : range) list.push_back(of(each));
  return list;
}

}  // namespace ddl
