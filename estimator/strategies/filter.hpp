#pragma once

#include "estimator/strategies/strategy.hpp"

namespace ddl {

extern const Strategy filter_strategy;

/// Whether a filter split of this degree divides the layer; one too small for it is computed whole by every rank.
[[nodiscard]] bool splits_filters(const ModelFacts& facts, int layer, int degree);

}  // namespace ddl
