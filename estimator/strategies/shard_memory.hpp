#pragma once

#include "core/quantity.hpp"
#include "estimator/strategies/strategy.hpp"

namespace ddl {

/// The memory of one rank's shard of a layer in one micro-batch, in addition to the layer's input and output.
struct ShardMemory {
  Bytes own{};         ///< masks, indices and scores that are kept for backward
  Bytes copies{};      ///< copies of weights and inputs in half precision that are kept for backward
  Bytes statistics{};  ///< means and deviations in fp32 that are kept for backward
  /// The halo from neighboring tiles or, at the end of a spatial split, the gathered tiles. A
  /// layer that keeps its input keeps these for backward.
  Bytes gathered{};
  Bytes scratch_forward{}, scratch_backward{};  ///< temporaries of forward and of backward

  [[nodiscard]] Bytes kept() const { return own + copies + statistics + gathered; }
};
/// Returns whether the mixed precision of the plan is PyTorch's autocast.
[[nodiscard]] bool casts(const Plan& plan, const Assumptions& assumptions);

/// Returns whether narrow copies of inputs and weights stay in memory between products. Integers are made where a product
/// reads them; for backward, products keep their inputs and weights in half precision [torchao,
/// torchao/prototype/quantized_training/int8_mixed_precision.py].
[[nodiscard]] bool has_narrow_copies(Precision precision);

/// Returns the bytes of an element in fp8, with one scale of 8 bits for 32 elements [Open Compute Project, "OCP Microscaling
/// Formats (MX) specification", version 1.0, section 5.2], or in nvfp4, with one for 16 elements [NVFP4].
[[nodiscard]] double narrow_item_bytes(Precision precision);

/// Returns the bytes that each pass reads and writes to convert frozen weights of a shard to the precision of the plan.
[[nodiscard]] double converted_bytes(const ShardContext& context, const LayerShard& shard);

/// Returns whether the operation is a root-mean-square norm of positions or of heads.
[[nodiscard]] bool is_mean_square_norm(const Operation& operation);

/// The form in which a plan's matrix products keep their inputs for backward.
[[nodiscard]] KeptForm kept_form(const Plan& plan, const Assumptions& assumptions);
/// The rules by which a plan keeps tensors for backward.
[[nodiscard]] KeptRules kept_rules(const Plan& plan, const Assumptions& assumptions);
/// Returns the bytes of an element of the output of layer `tensor`; for −1, of the batch.
[[nodiscard]] double tensor_item_bytes(const ModelFacts& facts, const Plan& plan, const Assumptions& assumptions,
                                       int tensor);
/// Returns the memory of a shard by the rules of PyTorch on a GPU, or on a CPU (`on_processor`). On
/// a CPU, dropout keeps a factor of 4 bytes for each element.
[[nodiscard]] ShardMemory shard_memory(const ShardContext& context, const LayerShard& shard, bool on_processor);

}  // namespace ddl
