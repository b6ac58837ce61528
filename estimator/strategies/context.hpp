#pragma once

#include "estimator/strategies/strategy.hpp"

namespace ddl {

extern const Strategy context_strategy;

/// Returns whether the ranks of a context split can have some heads each: the degree, times that of a tensor split, divides
/// the heads of keys and values of all attention.
[[nodiscard]] bool may_exchange_heads(const ModelFacts& facts, const Plan& plan);

}  // namespace ddl
