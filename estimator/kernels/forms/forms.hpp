#pragma once

#include <algorithm>
#include <cmath>

#include "estimator/kernels/kernel_form.hpp"

namespace ddl {

// One file each: a formula and the kinds of kernels that it is about.
[[nodiscard]] const KernelForm& traffic_form();
[[nodiscard]] const KernelForm& matrix_product_form();
[[nodiscard]] const KernelForm& convolution_form();
[[nodiscard]] const KernelForm& direct_convolution_form();
[[nodiscard]] const KernelForm& fused_attention_form();
[[nodiscard]] const KernelForm& chunk_scan_form();

/// A maximum without a corner: (aᵖ + bᵖ)^(1/p). Arithmetic and traffic of a kernel overlap, but not fully where both are
/// long.
[[nodiscard]] inline double soft_max(double a, double b, double sharpness) {
  const double larger = std::max(a, b);
  if (larger <= 0) return 0;
  return larger * std::pow(1 + std::pow(std::min(a, b) / larger, sharpness), 1 / sharpness);
}

inline constexpr double microsecond = 1e-6;

/// Of matrix products, and of convolutions, which are implicit ones.
namespace product {
enum Constant : std::size_t { start, peak, bandwidth, sharpness, depth, tile_loss, wave };
/// Sides of the output that one block of threads works on, and how far down the list of smaller tiles it stands.
struct Tile {
  double m, n, step;
};
[[nodiscard]] std::span<const Tile> tiles();
/// What tiles of a product read and how they are dealt out.
struct Blocks {
  bool are_split = true;     ///< long sums are cut into parts that blocks work on at once, where there are few blocks
  double operand_bytes = 0;  ///< that a multiprocessor reads in a clock cycle; 0: as many as any tile needs
};

/// Arithmetic alone, in seconds, of the best of these tiles.
[[nodiscard]] double arithmetic(const KernelShape& shape, const DevicePeaks& peaks, std::span<const double> constants,
                                std::span<const Tile> tiles, const Blocks& blocks = {});
/// Without start, padding, idle multiprocessors and depth, in seconds.
[[nodiscard]] double least(const KernelShape& shape, const DevicePeaks& peaks, std::span<const double> constants);
}  // namespace product

}  // namespace ddl
