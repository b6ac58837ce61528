#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "estimator/plan/plan.hpp"

namespace ddl {

/// Whether `gpus` is a product of degrees above 1, with one degree for each axis of the family.
[[nodiscard]] bool can_divide(std::int64_t gpus, Family family);
/// Returns the reason why the family has no plan for this number of devices: `needs at least 4 devices`.
[[nodiscard]] std::string why_without_plans(std::int64_t gpus, Family family);
/// Returns example degrees of this strategy for --degrees. The product of the degrees is `gpus` if
/// the strategy can divide `gpus` devices.
[[nodiscard]] std::string example_degrees(Family family, std::int64_t gpus);

/// Parses a strategy, such as `data+filter`. Throws Error for an unknown strategy.
[[nodiscard]] NamedFamily parse_named_family(const std::string& text);
/// Parses strategies, such as `data,fsdp+filter`. An empty text gives an empty list.
[[nodiscard]] std::vector<NamedFamily> parse_families(const std::string& text);
[[nodiscard]] std::string suggest_family(const std::string& text);
/// Throws Error for a ZeRO stage above 0, because the closed forms have no ZeRO stages.
void refuse_sharding_in_ideal(int zero_stage);

}  // namespace ddl
