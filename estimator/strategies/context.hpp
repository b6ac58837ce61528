#pragma once

#include "estimator/strategies/strategy.hpp"

namespace ddl {

extern const Strategy context_strategy;

/// Returns whether the ranks of a context split can divide the heads: the degree, times that of a tensor split, divides the
/// key and value heads of all attention layers.
[[nodiscard]] bool may_exchange_heads(const ModelFacts& facts, const Plan& plan);

}  // namespace ddl
