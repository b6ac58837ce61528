#pragma once

#include "core/quantity.hpp"
#include "estimator/strategies/strategy.hpp"

namespace ddl {

/// The memory of one rank's part of a layer in one micro-batch, in addition to its input and output.
struct ShardMemory {
  Bytes own{};         ///< kept for backward: masks, indices, scores
  Bytes copies{};      ///< kept for backward: copies of weights and inputs in half precision
  Bytes statistics{};  ///< kept for backward, in fp32: means and deviations
  /// Kept for backward by a layer that keeps its input: the halo from neighbouring tiles or, at the end of a spatial split,
  /// the gathered tiles.
  Bytes gathered{};
  Bytes scratch_forward{}, scratch_backward{};  ///< temporary, while a pass runs

  [[nodiscard]] Bytes kept() const { return own + copies + statistics + gathered; }
};
/// Returns whether the mixed precision of the plan is PyTorch's autocast.
[[nodiscard]] bool casts(const Plan& plan, const Assumptions& assumptions);

/// Returns the bytes of an item in fp8, with one scale of 8 bits for 32 items [Open Compute Project, "OCP Microscaling Formats
/// (MX) specification", version 1.0, section 5.2], or in nvfp4, with one for 16 items [NVFP4].
[[nodiscard]] double narrow_item_bytes(Precision precision);

/// The form in which a plan's matrix products keep their inputs for backward.
[[nodiscard]] KeptForm kept_form(const Plan& plan, const Assumptions& assumptions);
/// Returns the bytes of an item of the output of layer `tensor`, or of the batch if it is −1.
[[nodiscard]] double tensor_item_bytes(const ModelFacts& facts, const Plan& plan, const Assumptions& assumptions,
                                       int tensor);
/// Returns the memory by the rules of PyTorch on a GPU, or on a CPU (`on_processor`). On a CPU, dropout keeps a factor of 4
/// bytes for each item.
[[nodiscard]] ShardMemory shard_memory(const ShardContext& context, const LayerShard& shard, bool on_processor);

}  // namespace ddl
