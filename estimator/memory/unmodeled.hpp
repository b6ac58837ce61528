#pragma once

#include "core/quantity.hpp"
#include "estimator/layers/stage_of.hpp"

namespace ddl {

/// Returns an upper bound of what operators of eager frameworks keep for backward in addition to the rules of this program,
/// for sequence models whose formulas run operator by operator. One part is a share of the activations. It always applies
/// under PyTorch 1 and TensorFlow 1. In later versions, it applies in mixed precision if the model has adapters (masks and
/// copies of their dropout) or fewer key heads than query heads (copies of repeated keys and values). The saved tensors of
/// other models are exact (docs/memory.md). The other part are the inputs of quantized frozen layers, which older versions
/// of bitsandbytes keep.
[[nodiscard]] Bytes most_unmodeled(const StageOf& stage, Bytes activations);

/// Returns the additional memory of weights if a framework gathers whole blocks instead of layers, as FSDP does. It gathers
/// the current block, the prefetched next block, and all layers outside blocks, which stay gathered between forward and
/// backward. If weights are offloaded, the rank's shards of these are copied to the device first. Scales of quantized
/// weights are on each rank, whole. Zero for plans that do not shard or offload weights.
[[nodiscard]] Bytes most_gathered(const StageOf& stage);

/// Returns the memory of the second bucket of gradients of ZeRO-2, which exists if gradients are exchanged during backward
/// (`overlap_comm`) [DeepSpeed, deepspeed/runtime/zero/stage_1_and_2.py: `buf_1`, "use double buffers to avoid data access
/// conflict when overlap_comm is enabled"].
[[nodiscard]] Bytes most_buckets(const StageOf& stage);

/// Returns the share by which the rank with the most tokens may have more tokens than expected, if the user does not say how
/// tokens are spread over experts: natural_load() instead of equal numbers.
[[nodiscard]] double routing_excess(const StageOf& stage);

}  // namespace ddl
