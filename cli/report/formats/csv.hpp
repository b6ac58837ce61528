#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

namespace ddl {

/// Prints flat objects with the same keys as CSV, one column per key. The elements of a list are joined by blanks, and null
/// is empty.
[[nodiscard]] std::string csv_of(const nlohmann::ordered_json& objects);

}  // namespace ddl
