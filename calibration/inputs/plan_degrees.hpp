#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "estimator/plan/plan.hpp"

namespace ddl {

/// Maximum of one degree, and of the product of all degrees, which is the number of devices.
inline constexpr std::int64_t largest_degree = 1 << 20;

/// Parses `data=64,spatial=2x2` into the degrees of `plan`; `fsdp=64` also sets the ZeRO stage of the plan. Throws Error
/// that names the part that is not a degree. `option`: the name of the option, for the message.
void parse_degrees(std::string_view text, Plan& plan, std::string_view option = "--degrees");
/// Parses `data=32 from16:tensor=32`: the degrees of the first layers, and of segments of layers from a layer on, over as
/// many devices. Parts such as `t1:dp` are segments of tables. Throws Error that names the part that is wrong.
void parse_layouts(std::string_view text, Plan& plan, std::string_view option);
/// Parses a list of axes, innermost first, such as `filter,data`. Axes that are not listed follow in their default order.
[[nodiscard]] Placement parse_placement(std::string_view text);

/// If the product of the degrees exceeds largest_degree, returns a text that says so; otherwise returns an empty text.
[[nodiscard]] std::string too_many_devices(const Mesh& mesh);

}  // namespace ddl
