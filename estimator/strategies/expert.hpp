#pragma once

#include "estimator/strategies/strategy.hpp"

namespace ddl {

extern const Strategy expert_strategy;

/// Returns the number of ranks that experts are dealt to: those of expert, and those of tensor where it leaves experts
/// whole.
[[nodiscard]] std::int64_t expert_parts(const Plan& plan);
/// Returns whether whole experts can be dealt to the ranks of a tensor split: each rank has a part of the tokens, and the
/// degrees divide the experts.
[[nodiscard]] bool may_deal_experts(const ModelFacts& facts, const Plan& plan);

}  // namespace ddl
