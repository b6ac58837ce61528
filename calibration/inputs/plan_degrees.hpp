#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "estimator/plan/plan.hpp"

namespace ddl {

/// Most of one degree, and of the product of all: devices are counted in it.
inline constexpr std::int64_t largest_degree = 1 << 20;

/// `data=64,spatial=2x2` into the degrees of `plan`, and with `fsdp=64` its ZeRO stage. An Error says which part is not a
/// degree; `option` is what the user wrote it behind.
void parse_degrees(std::string_view text, Plan& plan, std::string_view option = "--degrees");
/// `filter,data` (innermost first); axes not named follow in their default order.
[[nodiscard]] Placement parse_placement(std::string_view text);

/// Why the product of the degrees is too much to be counted anywhere as a number of devices; empty where it is not.
[[nodiscard]] std::string too_many_devices(const Mesh& mesh);

}  // namespace ddl
