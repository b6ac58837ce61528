#pragma once

#include <vector>

#include "model_zoo/model.hpp"

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
};
[[nodiscard]] AutocastTypes autocast_types(const Model& model);

}  // namespace ddl
