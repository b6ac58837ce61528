#pragma once

#include <optional>
#include <vector>

#include "estimator/facts/model_facts.hpp"
#include "model_zoo/network/optimizer.hpp"

namespace ddl {

/// The weights of a layer as equal matrices: one, or one for each expert.
struct WeightMatrices {
  double rows = 0;     ///< output channels
  double columns = 0;  ///< inputs of an output: input channels, times the window of a convolution
  double count = 1;
};
/// Returns the weights that K-FAC, Shampoo and SOAP precondition: of fully connected layers and convolutions, without the
/// head over a vocabulary, whose matrices would be too large. Empty for other layers, and for layers with frozen weights.
[[nodiscard]] std::optional<WeightMatrices> preconditioned_weights(const ModelFacts& facts, std::size_t layer);

/// Returns the sides of the square matrices by which an optimizer multiplies the gradient of one weight matrix. With SOAP, a
/// side larger than 10,000 has no such matrix [Vyas et al., arXiv 2409.11321; soap.py, max_precond_dim]. Shampoo divides
/// weights into blocks with sides up to 8,192 [Shi et al., arXiv 2309.06497; facebookresearch/optimizers, README,
/// max_preconditioner_dim]. `blocks`: number of equal blocks.
struct PreconditionerSides {
  double rows = 0, columns = 0;  ///< 0: no matrix for this side
  double blocks = 1;
};
[[nodiscard]] PreconditionerSides preconditioner_sides(Optimizer optimizer, const WeightMatrices& weights);

/// Returns the elements of 4 bytes of an optimizer's matrices for one layer. Each side has a matrix of sums and the matrix
/// that is computed from it: eigenvectors with K-FAC and SOAP, an inverse root with Shampoo. K-FAC also has an element for
/// each weight [Pauloski et al., "KAISA", SC'21; kfac-pytorch, kfac/layers/eigen.py].
[[nodiscard]] double preconditioner_items(Optimizer optimizer, const WeightMatrices& weights);
/// The state of an optimizer that projects the gradients of matrices inside blocks to a rank.
struct ProjectedState {
  double parameters = 0;  ///< trained parameters in projected matrices
  double moments = 0;     ///< elements of the two moments: rank × the longer side of each matrix
  double projectors = 0;  ///< elements of the projections: rank × the shorter side
  /// Elements of the largest singular value decomposition, in fp32: a copy of the gradient, the copy that the library
  /// overwrites, and both matrices of singular vectors [PyTorch, aten/src/ATen/native/cuda/linalg/BatchLinearAlgebraLib.cpp,
  /// svd_cusolver].
  double decomposition = 0;
  double largest = 0;  ///< elements of the largest projected matrix
};
/// [Zhao et al., "GaLore", ICML 2024, table 1; jiaweizzhao/GaLore, galore_torch/galore_projector.py]. `rank`: at most the
/// shorter side of a matrix.
[[nodiscard]] ProjectedState projected_state(const ModelFacts& facts, double rank);
/// Counts the elements of all layers (ModelFacts::kfac_items and so on).
void count_preconditioners(const Model& model, ModelFacts& facts);

}  // namespace ddl
