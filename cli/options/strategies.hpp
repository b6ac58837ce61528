#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "estimator/plan/plan.hpp"

namespace ddl {

/// Whether so many devices are the product of a degree above 1 for each axis of the family.
[[nodiscard]] bool can_divide(std::int64_t gpus, Family family);
/// Why there is no plan of the family for so many devices: `needs at least 4 devices`.
[[nodiscard]] std::string why_without_plans(std::int64_t gpus, Family family);
/// Degrees of this very strategy as a user types them: for so many devices where they can be divided so.
[[nodiscard]] std::string example_degrees(Family family, std::int64_t gpus);

/// The ZeRO stage that every one of several strategies says, `fsdp,fsdp+tp`; nothing where one leaves it open.
[[nodiscard]] std::optional<int> zero_stage_of_all(std::string_view families);
/// `data,data+filter` into families; empty for an empty text.
[[nodiscard]] std::vector<Family> parse_families(const std::string& text);
[[nodiscard]] std::string suggest_family(const std::string& text);

}  // namespace ddl
