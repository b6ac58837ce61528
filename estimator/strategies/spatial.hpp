#pragma once

#include "estimator/strategies/strategy.hpp"

namespace ddl {

extern const Strategy spatial_strategy;

/// Returns the layers that the spatial split of the plan replicates; empty if all layers are split. If tiles become too
/// small, layers are replicated until all later layers fit again, as in the decoder of a U-Net.
[[nodiscard]] ReplicatedLayers replicated_layers(const ModelFacts& facts, const Plan& plan, const Software& software);
/// Returns whether each rank of a spatial split has only a tile of the tensors of a layer.
[[nodiscard]] bool is_tiled(const ModelFacts& facts, const ReplicatedLayers& replicated, int layer);
/// Returns whether `layer` is the first layer after the replicated layers that reads the output of the replicated layer
/// `input`. At this layer, each rank takes its tile of the output, and gathers the gradient.
[[nodiscard]] bool takes_tile_of(const ModelFacts& facts, const ReplicatedLayers& replicated, int layer, int input);
/// Returns whether the extents of samples and windows can be swapped, so that 2×4 and 4×2 tiles are mirror images.
[[nodiscard]] bool mirrors_alike(const ModelFacts& facts);
/// Returns the elements of one sample that one rank sends to one neighbor, summed over the split
/// dimensions. The halo of `tile` is `rows[d]` rows deep along dimension d.
[[nodiscard]] double halo_items(const TensorShape& tile, const std::array<std::int64_t, 3>& rows,
                                const std::array<int, 3>& split);

}  // namespace ddl
