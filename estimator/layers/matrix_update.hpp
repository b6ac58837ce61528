#pragma once

#include "core/quantity.hpp"
#include "estimator/layers/job.hpp"
#include "estimator/strategies/strategy.hpp"

namespace ddl {

/// The part of an optimizer's update that is not the same for each parameter of a model.
struct MatrixUpdate {
  double factor = 1;   ///< time of the elementwise update of this layer, divided by the time of KernelTimes::update_cost
  Seconds time{};      ///< time of the matrix products of the update, if one rank updates all matrices of the shard
  Seconds of_batch{};  ///< time of products with the rank's own samples, which every rank computes
  Seconds
      distributed{};  ///< time of work that is distributed among the ranks with replicas of the weights, also without ZeRO
  double parameters = 0;  ///< number of the shard's parameters in matrices that are updated as a whole
  double summed = 0;      ///< elements of 4 bytes that replicas sum with an Allreduce, per step
  double gathered = 0;    ///< elements of 4 bytes that are gathered after the distributed work, per step
};

/// Returns the products of an optimizer that updates matrices as a whole. Each rank of a tensor split computes whole
/// matrices. Other parameters are updated by Adam (Muon) or by the update that KernelTimes has.
///
/// - Muon: for each matrix of n × k (n ≤ k) inside blocks, five Newton-Schulz iterations X ← aX + (bA + cA²)X with A = XXᵀ,
///   of 4n²k + 2n³ FLOPs each [Jordan et al., "Muon: An optimizer for hidden layers in neural networks", 2024].
/// - K-FAC: for an r × c matrix, sums AᵀA of the N inputs and GᵀG of the N output gradients, 2N(c² + r²) FLOPs, which
///   replicas average; their eigenvectors, 9n³ FLOPs each [Golub and Van Loan, "Matrix computations", section 8.3], which
///   replicas divide among each other and gather; in each step, two products of r²c and two of rc² multiply-adds [Pauloski
///   et al., "KAISA", SC'21; kfac-pytorch, kfac/layers/eigen.py]. Sums are taken ten times as often as eigenvectors
///   [kfac-pytorch, examples/torch_imagenet_resnet.py]. Osawa et al. (CVPR 2019) divide inverses in the same way.
/// - Shampoo: sums GGᵀ and GᵀG, and products with their inverse fourth roots, r²c + rc² multiply-adds each [Gupta et al.,
///   ICML 2018]. Roots come from eigenvectors. Replicas divide all this among each other and gather the updates [Shi et al.,
///   arXiv 2309.06497, abstract].
/// - SOAP: the sums of Shampoo; in each step four products with eigenvectors, of gradient, momentum (twice) and update;
/// every
///   tenth step two products, an iteration and a QR decomposition of 8n³/3 FLOPs for each side [Vyas et al., arXiv
///   2409.11321, algorithms 3 and 4; soap.py].
/// - GaLore: for each matrix of m × n (n ≤ m), products of 2rmn FLOPs with a projection of rank r, before and after the
/// update;
///   every 200th step a singular value decomposition of 6mn² + 20n³ FLOPs [Zhao et al., ICML 2024, algorithm 2; Golub and
///   Van Loan, "Matrix computations", section 8.6]. APOLLO draws its projection.
///
/// Decompositions are assumed to run as fast as matrix products in fp32, which is a lower bound of their time.
[[nodiscard]] MatrixUpdate matrix_update(const Job& job, const ShardContext& context, const LayerShard& shard);

}  // namespace ddl
