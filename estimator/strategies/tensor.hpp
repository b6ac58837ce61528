#pragma once

#include "estimator/strategies/strategy.hpp"

namespace ddl {

extern const Strategy tensor_strategy;

/// Returns whether sequence parallelism is possible: there are sequences between pairs of split
/// layers, and the tensor degree of the plan divides all of these sequences.
[[nodiscard]] bool may_split_tokens(const ModelFacts& facts, const Plan& plan);

}  // namespace ddl
