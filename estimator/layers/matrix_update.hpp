#pragma once

#include "core/quantity.hpp"
#include "estimator/layers/job.hpp"
#include "estimator/strategies/strategy.hpp"

namespace ddl {

/// The part of an optimizer's update that is not the same for each parameter of a model.
struct MatrixUpdate {
  double factor = 1;      ///< time of the elementwise update of this layer, divided by the time of KernelTimes::update_cost
  Seconds time{};         ///< time of the matrix products of the update, if one rank updates all matrices of the shard
  double parameters = 0;  ///< number of the shard's parameters in matrices that are updated as a whole
};

/// Returns the products of Muon's update: for each matrix of n × k (n ≤ k) inside blocks, five Newton-Schulz iterations X ←
/// aX + (bA + cA²)X with A = XXᵀ, which take 4n²k + 2n³ FLOPs each [Jordan et al., "Muon: An optimizer for hidden layers in
/// neural networks", 2024]. Each rank of a tensor split computes whole matrices. Other parameters are updated by Adam.
[[nodiscard]] MatrixUpdate matrix_update(const Job& job, const ShardContext& context, const LayerShard& shard);

}  // namespace ddl
