#pragma once

#include "estimator/strategies/strategy.hpp"

namespace ddl {

extern const Strategy spatial_strategy;

/// First layer that the plan's spatial split leaves whole: all before it are split, it and all after are replicated behind
/// an Allgather. 0 without a spatial split.
[[nodiscard]] int spatial_end(const ModelFacts& facts, const Plan& plan, const Software& software);
/// Whether the extents of samples and windows can change places, so that 2×4 and 4×2 tiles are mirror images.
[[nodiscard]] bool mirrors_alike(const ModelFacts& facts);
/// Items of one sample that one rank sends one neighbour, summed over the split dimensions: the halo of `tile`, whose rows
/// are `rows` deep along each dimension.
[[nodiscard]] double halo_items(const TensorShape& tile, const std::array<std::int64_t, 3>& rows,
                                const std::array<int, 3>& split);

}  // namespace ddl
