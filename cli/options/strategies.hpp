#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "estimator/plan/plan.hpp"

namespace ddl {

/// Whether this number of devices is a product of degrees above 1, one for each axis of the family.
[[nodiscard]] bool can_divide(std::int64_t gpus, Family family);
/// The reason why the family has no plan for this number of devices: `needs at least 4 devices`.
[[nodiscard]] std::string why_without_plans(std::int64_t gpus, Family family);
/// Example degrees of this strategy for --degrees. Their product is `gpus` if the strategy can divide this number.
[[nodiscard]] std::string example_degrees(Family family, std::int64_t gpus);

/// The degrees of a hybrid if there is only one way to divide this number of devices, such as data+tensor on 4. Empty if
/// several ways or no way divide the number, and for a strategy of one axis.
[[nodiscard]] std::string only_degrees(Family family, std::int64_t gpus);

/// Parses `data+filter`. Throws Error for an unknown strategy.
[[nodiscard]] NamedFamily parse_named_family(const std::string& text);
/// Parses `data,fsdp+filter`; an empty text has no families.
[[nodiscard]] std::vector<NamedFamily> parse_families(const std::string& text);
[[nodiscard]] std::string suggest_family(const std::string& text);
/// Throws Error for a ZeRO stage above 0, which the closed forms do not have.
void refuse_sharding_in_ideal(int zero_stage);

}  // namespace ddl
