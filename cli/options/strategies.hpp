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

/// The degrees of a hybrid on so many devices where there is one way alone, as of data+tensor on 4; empty where there are
/// several, or none, and for what is no hybrid.
[[nodiscard]] std::string only_degrees(Family family, std::int64_t gpus);

/// `data+filter` into a family. Throws Error for an unknown strategy.
[[nodiscard]] NamedFamily parse_named_family(const std::string& text);
/// `data,fsdp+filter` into families; empty for an empty text.
[[nodiscard]] std::vector<NamedFamily> parse_families(const std::string& text);
[[nodiscard]] std::string suggest_family(const std::string& text);
/// Throws Error where words say a ZeRO stage: the closed forms know none.
void refuse_sharding_in_ideal(int zero_stage);

}  // namespace ddl
