#pragma once

#include "estimator/strategies/strategy.hpp"

namespace ddl {

extern const Strategy context_strategy;

/// Returns whether the ranks of a context split can divide the heads: the context degree times the tensor degree divides the
/// number of key and value heads of every attention layer.
[[nodiscard]] bool may_exchange_heads(const ModelFacts& facts, const Plan& plan);

}  // namespace ddl
