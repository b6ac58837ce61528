#pragma once

#include "estimator/strategies/strategy.hpp"

namespace ddl {

extern const Strategy tensor_strategy;

/// Returns whether the tensor degree of the plan divides all sequences that lie between pairs of split layers, and there are
/// some: what sequence parallelism needs.
[[nodiscard]] bool may_split_tokens(const ModelFacts& facts, const Plan& plan);

}  // namespace ddl
