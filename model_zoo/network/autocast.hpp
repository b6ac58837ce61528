#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "model_zoo/network/model.hpp"
#include "model_zoo/network/problem.hpp"

namespace ddl {

/// What PyTorch's autocast computes in fp32 though mixed precision was asked for [PyTorch docs, "Automatic mixed precision
/// package", autocast op reference for CUDA]: matrix operations run in half precision, norms of a sample, softmax and losses
/// in fp32, and everything else in the widest type of what it reads, parameters among them, which are fp32.
struct AutocastTypes {
  std::vector<bool> is_wide;  ///< by layer, whether the output has 4 bytes an item
  /// By layer, whether it reads its inputs in half precision: of wide ones it makes copies, and keeps those.
  std::vector<bool> reads_half;
  /// By layer, whether it reads its inputs in fp32: of those in half precision it makes copies, and keeps those.
  std::vector<bool> reads_wide;

  /// Whether a layer makes a copy of a layer's output in another precision.
  [[nodiscard]] bool copies(std::size_t reader, std::size_t tensor) const {
    return (reads_half[reader] && is_wide[tensor]) || (reads_wide[reader] && !is_wide[tensor]);
  }
  /// The format in which a layer computes, where others run in `half`.
  [[nodiscard]] Precision precision(std::size_t layer, Precision half) const {
    return is_wide[layer] ? Precision::fp32 : half;
  }
};
[[nodiscard]] AutocastTypes autocast_types(const Model& model);

/// One rank's part of a layer under autocast.
struct CastLayer {
  std::size_t index = 0;
  std::span<const TensorShape> inputs;  ///< of one sample, as the rank reads them
  std::int64_t parameters = 0;          ///< that the rank computes with, those of another layer among them
  std::int64_t samples = 1;
  bool needs_gradient = false;  ///< of its inputs
};
/// Casts that autocast runs beside the layer's own kernels, as problems of the operation `cast`. Of inputs in another format
/// than it reads: forward, and where their gradient is needed back again. What only adds or multiplies reads both formats;
/// gradients of those in half precision are cast by the autograd engine. Of weights that a layer reads in half precision:
/// one cast each forward (autocast keeps it until its context ends), and one of their gradients, which are to be in fp32.
[[nodiscard]] std::vector<Problem> autocast_casts(const Model& model, const AutocastTypes& types, const CastLayer& layer,
                                                  Precision half);

}  // namespace ddl
