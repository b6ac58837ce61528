#pragma once

#include <nlohmann/json_fwd.hpp>

namespace ddl {

/// Returns the value with each number of bytes, whose key ends with `bytes`, as a whole number.
[[nodiscard]] nlohmann::ordered_json with_whole_bytes(nlohmann::ordered_json value);

}  // namespace ddl
