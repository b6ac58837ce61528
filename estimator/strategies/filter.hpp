#pragma once

#include "estimator/strategies/strategy.hpp"

namespace ddl {

extern const Strategy filter_strategy;

/// Returns whether a filter split of this degree divides the layer. A layer that is too small is replicated on every rank.
[[nodiscard]] bool splits_filters(const ModelFacts& facts, int layer, int degree);

/// Returns the elements that backward of a layer exchanges in filter and channel splits in the closed forms: those of its
/// output, and none for the last layer [ParaDL, Table III]. Otherwise, backward exchanges the gradient of the layer's input,
/// which is smaller than the output of the previous layer if a pool is between them.
[[nodiscard]] double printed_gradient(const ShardContext& context, double output);

}  // namespace ddl
