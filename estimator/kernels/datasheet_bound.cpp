#include "estimator/kernels/datasheet_bound.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace ddl {
namespace {

/// Upper bound of the bytes that a kernel finds in a device's last-level cache: the largest one has 256 MB (Instinct
/// MI300X) [AMD, CDNA 3 white paper].
constexpr double most_cached = 256e6;
/// Multiplications with Winograd's tiles of 4 × 4, divided by those of the direct algorithm for windows of 3 × 3: 36 / (16 ·
/// 9).
constexpr double fewest_of_tiles = 36.0 / (16 * 9);
/// Side of the tiles that cuDNN transforms (CUDNN_CONVOLUTION_FWD_ALGO_FFT_TILING).
constexpr double transformed_side = 32;

/// Returns the number of positions of a convolution's window. If a fused kernel does not move all tensors, the number is an
/// upper bound.
double window_of(const Work& work, Pass pass) {
  constexpr double unknown = std::numeric_limits<double>::infinity();
  if (work.group_inputs <= 0) return unknown;
  if (pass == Pass::forward) return work.k / work.group_inputs;
  if (pass == Pass::backward_weight) return work.n / work.group_inputs;
  // The sum runs over the window and the output's channels. Their number follows from the output's elements.
  const double channels = work.activation_items / work.m - work.n;
  return channels > 0 ? work.k / channels : unknown;
}

/// Returns the least number of multiplications of a convolution, divided by the number that its FLOPs count.
double least_multiplied(const Work& work, Pass pass) {
  constexpr double one_position = 1.01;
  if (work.square3_rows > 0) return fewest_of_tiles;
  const double window = window_of(work, pass);
  if (window <= one_position) return 1;
  // A tile of 32 × 32 has 32 · 17 complex products, each of four multiplications, for (33 − s)² positions.
  const double side = std::min(std::sqrt(window), transformed_side / 2);
  const double positions = std::pow(transformed_side + 1 - side, 2);
  return std::min(1.0, 4 * transformed_side * (transformed_side / 2 + 1) / (positions * side * side));
}

}  // namespace

double datasheet_bound(const Work& work, Pass pass, double samples, const KernelShape& shape, const DevicePeaks& peaks) {
  const bool is_product = shape.kind == KernelKind::matrix_product || shape.kind == KernelKind::grouped_product;
  if (!is_product && shape.kind != KernelKind::convolution) return 0;
  const double fewer = is_product || !peaks.has_fast_convolutions ? 1 : least_multiplied(work, pass);
  const double arithmetic = work.flops * samples * fewer / peaks.flop_rate;
  // A strided convolution does not read all of its input.
  const double traffic = is_product ? (shape.bytes - most_cached) / peaks.bandwidth : 0;
  return std::max(arithmetic, traffic);
}

}  // namespace ddl
