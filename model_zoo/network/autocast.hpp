#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "model_zoo/network/model.hpp"
#include "model_zoo/network/problem.hpp"

namespace ddl {

/// The precisions in which PyTorch's autocast runs layers [PyTorch docs, "Automatic mixed precision package", autocast op
/// reference for CUDA]. Matrix operations run in half precision. Norms of a sample, softmax and losses run in fp32. All
/// other layers run in the widest type of their inputs and parameters; parameters are in fp32.
struct AutocastTypes {
  std::vector<bool> is_wide;  ///< for each layer, whether the output has 4 bytes per element
  /// For each layer, whether the layer reads its inputs in half precision. Such a layer casts fp32
  /// inputs to half precision, and keeps the copies.
  std::vector<bool> reads_half;
  /// For each layer, whether the layer reads its inputs in fp32. Such a layer casts
  /// half-precision inputs to fp32, and keeps the copies.
  std::vector<bool> reads_wide;

  /// Returns whether layer `reader` copies the output of layer `tensor` to another precision.
  [[nodiscard]] bool copies(std::size_t reader, std::size_t tensor) const {
    return (reads_half[reader] && is_wide[tensor]) || (reads_wide[reader] && !is_wide[tensor]);
  }
  /// Returns the format in which a layer computes. `half`: the half-precision format of matrix operations.
  [[nodiscard]] Precision precision(std::size_t layer, Precision half) const {
    return is_wide[layer] ? Precision::fp32 : half;
  }
};
[[nodiscard]] AutocastTypes autocast_types(const Model& model);

/// One rank's shard of a layer under autocast.
struct CastLayer {
  std::size_t index = 0;
  std::span<const TensorShape> inputs;  ///< inputs of one sample, as the rank reads them
  std::int64_t parameters = 0;          ///< parameters that the rank uses, including those of a shared table
  std::int64_t samples = 1;
  bool needs_gradient = false;  ///< whether the gradients of the layer's inputs are needed
};
/// Returns the casts that autocast runs in addition to the layer's own kernels, as problems of the operation `cast`. If an
/// input has another format than the layer reads, forward casts the input, and backward casts the input's gradient if the
/// gradient is needed. Additions and multiplications read both formats. The autograd engine casts their gradients to half
/// precision if needed. Weights that a layer reads in half precision are cast once per forward (autocast caches the result
/// until its context ends). The gradients of these weights must be in fp32, and are cast once, too.
[[nodiscard]] std::vector<Problem> autocast_casts(const Model& model, const AutocastTypes& types, const CastLayer& layer,
                                                  Precision half);

}  // namespace ddl
