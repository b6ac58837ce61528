#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

namespace ddl {

/// Flat objects with the same keys as CSV, one column per key; the elements of a list are joined by blanks, null is empty.
[[nodiscard]] std::string csv_of(const nlohmann::ordered_json& objects);

}  // namespace ddl
