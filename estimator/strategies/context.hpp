#pragma once

#include "estimator/strategies/strategy.hpp"

namespace ddl {

extern const Strategy context_strategy;

/// Returns whether the ranks of a context split can divide the heads: the context degree times the tensor degree divides the
/// number of key and value heads of every attention layer.
[[nodiscard]] bool may_exchange_heads(const ModelFacts& facts, const Plan& plan);
/// Returns whether the ranks of a context split can divide the query heads, although several ranks may need the same head of
/// keys and values. Without a tensor degree, the context degree may be a multiple of the number of heads of keys. The search
/// does not try such plans.
[[nodiscard]] bool may_divide_heads(const ModelFacts& facts, const Plan& plan);

}  // namespace ddl
