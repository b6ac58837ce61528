#pragma once

#include "estimator/strategies/strategy.hpp"

namespace ddl {

extern const Strategy filter_strategy;

/// Returns whether a filter split of this degree divides the layer. A layer that is too small is replicated on every rank.
[[nodiscard]] bool splits_filters(const ModelFacts& facts, int layer, int degree);

/// Returns the elements that backward of a layer exchanges with filter and channel splits in the closed forms: the elements
/// of its output, and 0 for the last layer [ParaDL, Table III]. Outside of the closed forms, backward exchanges the gradient
/// of the layer's input. If a pool precedes the layer, this gradient is smaller than the output of the layer before the
/// pool.
[[nodiscard]] double printed_gradient(const ShardContext& context, double output);

}  // namespace ddl
