#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

namespace ddl {

/// Prints a list of flat objects with equal keys as CSV, one column per key. Elements of a list are
/// joined by blanks. Null becomes an empty cell.
[[nodiscard]] std::string csv_of(const nlohmann::ordered_json& objects);

}  // namespace ddl
