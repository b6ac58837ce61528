#include <limits>

#include "estimator/kernels/forms/forms.hpp"

namespace ddl {
namespace product {
namespace {

enum More : std::size_t { sustained = wave + 1, burst, expert };
constexpr std::array<KernelConstant, 10> constants{{
    {"start", 3, 0.3, 300},
    {"peak", 0.78, 0.05, 1.2},
    {"bandwidth", 0.8, 0.05, 2},
    {"sharpness", 2.5, 1.02, 8},
    {"depth", 100, 1, 1000},
    {"tile_loss", 0.93, 0.5, 0.995},
    {"wave", 0.7, 0.01, 0.99},
    {"sustained", 1, 0.5, 1, false, true, true},   // part of `peak` that is left after `burst`
    {"burst", 100, 1, 10000, false, true, true},   // microseconds
    {"expert", 0.1, 0.1, 100, false, true, true},  // microseconds per expert
}};
constexpr std::array<Tile, 9> usual_tiles{{{256, 256, 0},
                                           {256, 128, 1},
                                           {128, 256, 1},
                                           {128, 128, 2},
                                           {128, 64, 3},
                                           {64, 128, 3},
                                           {64, 64, 4},
                                           {64, 32, 5},
                                           {32, 64, 5}}};
/// Sums with fewer terms are computed in one block (no split-K).
constexpr double least_split_depth = 1024;
/// Bytes that matrix units load at once [NVIDIA, Matrix Multiplication Background User's Guide, requirements for tensor
/// cores: 8 elements in half precision, 4 in TF32].
constexpr double aligned_bytes = 16;

/// Returns whether a batched product has no kernel on matrix units, because its rows are not
/// aligned to `aligned_bytes`. An example is heads of 108 channels in half precision [BigScience, chronicles of
/// tr11-176B-ml: steps take a third longer than with 104, 112 or 144 channels].
bool misses_matrix_units(const KernelShape& shape, const DevicePeaks& peaks) {
  if (!(shape.items > 0)) return false;
  const double aligned_items = std::max(1.0, std::floor(aligned_bytes * shape.items / shape.bytes + 1e-9));
  const auto is_odd = [&](double length) { return length == std::floor(length) && std::fmod(length, aligned_items) != 0; };
  // Long sums run over tokens, whose elements are not contiguous in memory.
  constexpr double largest_head = 512;
  const bool is_batch = shape.count > 1 && shape.experts == 0;
  return peaks.has_matrix_units && is_batch && (is_odd(shape.n) || (shape.k <= largest_head && is_odd(shape.k)));
}

}  // namespace

std::span<const Tile> tiles() { return usual_tiles; }

// Large tiles waste work beyond the edges of the output, and the last wave of large blocks leaves multiprocessors idle.
// Small tiles reuse less of the data that they read. The library is assumed to choose the best tile.
double arithmetic(const KernelShape& shape, const DevicePeaks& peaks, std::span<const double> c, std::span<const Tile> tiles,
                  const Blocks& of) {
  const double rate =
      (misses_matrix_units(shape, peaks) ? std::min(peaks.flop_rate, peaks.vector_flop_rate) : peaks.flop_rate) * c[peak];
  // The time to read the operands of an m × n tile, divided by its arithmetic time, is this constant times (1/m + 1/n).
  const double reading =
      of.operand_bytes > 0 ? rate / 2 * shape.bytes / shape.items / (peaks.cycle_rate * of.operand_bytes) : 0;
  double best = std::numeric_limits<double>::max();
  for (const Tile& tile : tiles) {
    const double rows = std::ceil(shape.m / tile.m - 1e-9);
    const double columns = std::ceil(shape.n / tile.n - 1e-9);
    const double padding = rows * tile.m / shape.m * (columns * tile.n / shape.n);
    double idle = 1;
    if (peaks.multiprocessors > 0) {
      double blocks = shape.count * rows * columns;
      if (of.are_split) {
        // A sum of twice as many terms has at most twice as many blocks, so it never takes less time.
        blocks *= std::clamp(std::floor(peaks.multiprocessors / blocks), 1.0, std::max(1.0, shape.k / least_split_depth));
      }
      const double waves = blocks / peaks.multiprocessors;
      idle = std::pow(std::ceil(waves - 1e-9) / waves, c[wave]);
    }
    const double multiplying = 1 / std::pow(c[tile_loss], tile.step);
    const double slower =
        reading > 0 ? soft_max(multiplying, reading * (1 / tile.m + 1 / tile.n), c[sharpness]) : multiplying;
    best = std::min(best, padding * idle * slower);
  }
  return best * shape.flops * (1 + c[depth] / shape.k) / rate;
}

double least(const KernelShape& shape, const DevicePeaks& peaks, std::span<const double> c) {
  return soft_max(shape.flops / (peaks.flop_rate * c[peak]), shape.bytes / (peaks.bandwidth * c[bandwidth]), c[sharpness]);
}

namespace {

double time(const KernelShape& shape, const DevicePeaks& peaks, std::span<const double> c) {
  const double traffic = shape.bytes / (peaks.bandwidth * c[bandwidth]);
  double computing = arithmetic(shape, peaks, c, usual_tiles);
  computing += std::max(0.0, computing - c[burst] * microsecond) * (1 / c[sustained] - 1);
  const double kernel = soft_max(computing, traffic, c[sharpness]);
  // A launch that is not hidden behind the previous expert's product delays the next one.
  constexpr double launch_sharpness = 2.5;
  return c[start] * microsecond + soft_max(kernel, shape.experts * c[expert] * microsecond, launch_sharpness);
}

constexpr KernelForm form{"product", constants, time, least};

}  // namespace
}  // namespace product

const KernelForm& matrix_product_form() { return product::form; }

}  // namespace ddl
