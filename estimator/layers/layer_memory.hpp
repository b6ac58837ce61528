#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "core/quantity.hpp"
#include "estimator/kernels/shard_times.hpp"
#include "estimator/layers/job.hpp"
#include "estimator/strategies/strategy.hpp"

namespace ddl {

/// The memory that one rank's shard of a layer requests in one micro-batch, equal for all layers of one kind.
struct LayerMemory {
  Bytes output{};             ///< bytes of the output; 0 for a view
  std::vector<Bytes> inputs;  ///< bytes of each input; the gradient of an input has the same size
  static constexpr std::size_t blocks = 5, copies = 1;
  /// Memory blocks of the layer itself that backward needs. Block `copies` contains copies of inputs in a lower precision.
  std::array<Bytes, blocks> kept{};
  Bytes scratch_forward{}, scratch_backward{};  ///< temporaries that exist while a pass runs
  ShardWorkspace workspace;                     ///< scratch memory of library kernels, in addition to the temporaries
  double weights = 0, biases = 0;               ///< numbers of parameters
  double trained_share = 1;                     ///< share of the parameters that have gradients
  double touched_share = 1;                     ///< share of the trained parameters that have a gradient in a step
  double replicas = 1;                          ///< number of ranks with replicas of the parameters

  [[nodiscard]] Bytes all_kept() const { return kept[0] + kept[1] + kept[2] + kept[3] + kept[4]; }
};
/// Returns whether the output of a layer has the tokens that a rank's experts receive.
[[nodiscard]] bool holds_routed_tokens(const ModelFacts& facts, int layer);
/// Returns the share of the tokens that an MLP processes at a time (Assumptions::mlp_tiles); 1 for layers outside an MLP.
[[nodiscard]] double tile_share(const ShardContext& context, const LayerShard& shard);
/// Returns the memory on the rank whose experts receive the most tokens (expert_load).
[[nodiscard]] LayerMemory layer_memory(const Job& job, const ShardContext& context, const LayerShard& shard);

}  // namespace ddl
