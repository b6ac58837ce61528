#pragma once

#include <algorithm>
#include <cmath>

#include "estimator/kernels/kernel_form.hpp"

namespace ddl {

// Each form is a formula of kernel times with the types of kernels that it applies to. Each form is defined in its own file.
[[nodiscard]] const KernelForm& traffic_form();
[[nodiscard]] const KernelForm& matrix_product_form();
[[nodiscard]] const KernelForm& convolution_form();
[[nodiscard]] const KernelForm& direct_convolution_form();
[[nodiscard]] const KernelForm& fused_attention_form();
[[nodiscard]] const KernelForm& chunk_scan_form();

/// Returns a smooth maximum: (aᵖ + bᵖ)^(1/p), with p = `sharpness`. Arithmetic and memory traffic
/// of a kernel overlap, but not fully if both are long.
[[nodiscard]] inline double soft_max(double a, double b, double sharpness) {
  const double larger = std::max(a, b);
  if (larger <= 0) return 0;
  return larger * std::pow(1 + std::pow(std::min(a, b) / larger, sharpness), 1 / sharpness);
}

inline constexpr double microsecond = 1e-6;

/// The constants for matrix products and for convolutions, which are predicted as matrix products.
namespace product {
enum Constant : std::size_t { start, peak, bandwidth, sharpness, depth, tile_loss, wave };
/// The sides of the output tile of one thread block, and the tile's position in the list of tiles from large to small.
struct Tile {
  double m, n, step;
};
[[nodiscard]] std::span<const Tile> tiles();
/// How thread blocks read the data of their tiles, and how blocks are distributed over multiprocessors.
struct Blocks {
  bool are_split = true;     ///< split-K: if there are few blocks, several blocks share long sums
  double operand_bytes = 0;  ///< bytes that a multiprocessor reads in a clock cycle; 0: unlimited
};

/// Returns the time of the arithmetic with the best of these tiles, in seconds.
[[nodiscard]] double arithmetic(const KernelShape& shape, const DevicePeaks& peaks, std::span<const double> constants,
                                std::span<const Tile> tiles, const Blocks& blocks = {});
/// Returns a lower bound of the time in seconds, which excludes launch, padding, idle multiprocessors and pipeline depth.
[[nodiscard]] double least(const KernelShape& shape, const DevicePeaks& peaks, std::span<const double> constants);
}  // namespace product

}  // namespace ddl
