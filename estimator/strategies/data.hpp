#pragma once

#include "estimator/strategies/strategy.hpp"

namespace ddl {

extern const Strategy data_strategy;

/// Returns whether some plans with ZeRO are impossible because of how gradients are exchanged.
[[nodiscard]] bool limits_zero(const Assumptions& assumptions, const ModelFacts& facts);

}  // namespace ddl
