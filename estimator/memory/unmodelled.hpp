#pragma once

#include "core/quantity.hpp"
#include "estimator/layers/stage_of.hpp"

namespace ddl {

/// Returns an upper bound of what operators of eager frameworks keep for backward in addition to the rules of this program,
/// for sequence models in mixed precision whose formulas run operator by operator. One part is a share of the activations:
/// masks and copies of dropout in adapters, copies of repeated keys and values, and views that keep the storage of larger
/// tensors. The other part are the inputs of quantized frozen layers, which older versions of bitsandbytes keep.
[[nodiscard]] Bytes most_unmodelled(const StageOf& stage, Bytes activations);

/// Returns how much more memory the rank with the most tokens may need, if the user does not say how tokens are spread over
/// experts: natural_load() instead of equal numbers. `held`: micro-batches whose activations of all layers exist at once.
[[nodiscard]] Bytes most_of_routing(const StageOf& stage, double held);

}  // namespace ddl
