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
enum Constant : std::size_t { start, peak, bandwidth, sharpness, depth, tile_loss, wave, fast_window, operands };
inline constexpr double unlimited_operands = 1000;  ///< bytes in a clock cycle that no tile needs

/// Arithmetic alone, in seconds. A multiprocessor reads so many bytes of operands in a clock cycle.
[[nodiscard]] double arithmetic(const KernelShape& shape, const DevicePeaks& peaks, std::span<const double> constants,
                                double operand_bytes = unlimited_operands);
/// Without start, padding, idle multiprocessors and depth, in seconds.
[[nodiscard]] double least(const KernelShape& shape, const DevicePeaks& peaks, std::span<const double> constants);
}  // namespace product

}  // namespace ddl
