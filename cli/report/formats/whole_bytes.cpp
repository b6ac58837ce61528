#include "cli/report/formats/whole_bytes.hpp"

#include <cmath>
#include <cstdint>

#include <nlohmann/json.hpp>

namespace ddl {
namespace {

using Json = nlohmann::ordered_json;

void make_whole(Json& value, bool is_bytes) {
  constexpr double most = 9e18;  // below the largest 64-bit integer
  if (value.is_object()) {
    for (auto each = value.begin(); each != value.end(); ++each) make_whole(each.value(), each.key().ends_with("bytes"));
  } else if (value.is_array()) {
    for (Json& each : value) make_whole(each, is_bytes);
  } else if (is_bytes && value.is_number_float()) {
    const double bytes = value.get<double>();
    if (std::abs(bytes) < most) value = static_cast<std::int64_t>(std::llround(bytes));
  }
}

}  // namespace

Json with_whole_bytes(Json value) {
  make_whole(value, false);
  return value;
}

}  // namespace ddl
