#pragma once

#include "estimator/strategies/strategy.hpp"

namespace ddl {

extern const Strategy expert_strategy;

/// Returns the number of ranks over which experts are distributed: the expert degree, times the tensor degree if tensor
/// parallelism leaves experts whole (expert-tensor-parallel size 1).
[[nodiscard]] std::int64_t expert_parts(const Plan& plan);
/// Returns whether expert-tensor-parallel size 1 is possible. Sequence parallelism must give each rank of the tensor split a
/// shard of the tokens. The product of expert degree and tensor degree must divide the number of experts.
[[nodiscard]] bool supports_etp1(const ModelFacts& facts, const Plan& plan);

}  // namespace ddl
