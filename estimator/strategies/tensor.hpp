#pragma once

#include "estimator/strategies/strategy.hpp"

namespace ddl {

extern const Strategy tensor_strategy;

/// Returns whether the tensor degree of the plan divides all sequences between pairs of split layers, and there are any: the
/// requirement of sequence parallelism.
[[nodiscard]] bool may_split_tokens(const ModelFacts& facts, const Plan& plan);

}  // namespace ddl
