#pragma once

#include "estimator/strategies/strategy.hpp"

namespace ddl {

extern const Strategy filter_strategy;

/// Returns whether a filter split of this degree divides the layer. A layer that is too small is replicated on every rank.
[[nodiscard]] bool splits_filters(const ModelFacts& facts, int layer, int degree);

}  // namespace ddl
