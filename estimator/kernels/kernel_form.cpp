#include "estimator/kernels/kernel_form.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace ddl {
namespace {

/// A maximum without a corner: (aᵖ + bᵖ)^(1/p). Arithmetic and traffic of a kernel overlap, but not fully where both are
/// long.
double soft_max(double a, double b, double sharpness) {
  const double larger = std::max(a, b);
  if (larger <= 0) return 0;
  return larger * std::pow(1 + std::pow(std::min(a, b) / larger, sharpness), 1 / sharpness);
}

constexpr double microsecond = 1e-6;

// Elementwise operations, norms, softmax, dropout, lookups: the device's memory decides, and for very small ones the start.
enum Traffic : std::size_t { traffic_start, traffic_bandwidth, traffic_peak };
constexpr std::array<KernelConstant, 3> traffic_constants{{
    {"start", 3, 0.3, 300},
    {"bandwidth", 0.85, 0.02, 2},
    {"peak", 0.8, 0.05, 1},
}};

double traffic_least(const KernelShape& shape, const DevicePeaks& peaks, std::span<const double> c) {
  return std::max(shape.bytes / (peaks.bandwidth * c[traffic_bandwidth]),
                  shape.flops / (peaks.vector_flop_rate * c[traffic_peak]));
}

double traffic_time(const KernelShape& shape, const DevicePeaks& peaks, std::span<const double> c) {
  // The first wave of blocks fills while the last of the kernel before drains: start and traffic overlap in part.
  constexpr double sharpness = 2;
  return soft_max(c[traffic_start] * microsecond, traffic_least(shape, peaks, c), sharpness);
}

// Matrix products, and convolutions as implicit matrix products.
enum Product : std::size_t { start, peak, bandwidth, sharpness, depth, tile_loss, wave, fast_window };
constexpr std::array<KernelConstant, 7> product_constants{{
    {"start", 3, 0.3, 300},
    {"peak", 0.78, 0.05, 1.2},
    {"bandwidth", 0.8, 0.05, 2},
    {"sharpness", 2.5, 1.02, 8},
    {"depth", 100, 1, 1000},
    {"tile_loss", 0.93, 0.5, 0.995},
    {"wave", 0.7, 0.01, 0.99},
}};
constexpr std::array<KernelConstant, 8> convolution_constants{{
    {"start", 8, 0.3, 300},
    {"peak", 0.75, 0.05, 1.2},
    {"bandwidth", 0.75, 0.05, 2},
    {"sharpness", 2.5, 1.02, 8},
    {"depth", 100, 1, 1000},
    {"tile_loss", 0.93, 0.5, 0.995},
    {"wave", 0.7, 0.01, 0.99},
    {"fast_window", 1.8, 1, 4},
}};

/// Sides of the output that one block of threads works on.
struct Tile {
  double m, n;
};
constexpr std::array<Tile, 9> tiles{
    {{256, 256}, {256, 128}, {128, 256}, {128, 128}, {128, 64}, {64, 128}, {64, 64}, {64, 32}, {32, 64}}};
constexpr std::array<double, tiles.size()> tile_steps{0, 1, 1, 2, 3, 3, 4, 5, 5};
/// Sums shorter than this are not cut into parts that blocks work on at once.
constexpr double least_split_depth = 1024;

/// Arithmetic alone. Each of the library's tiles wastes what hangs over the edges of the output, and the blocks of the last
/// wave leave multiprocessors idle; smaller tiles reuse less of what they read. The library takes the best one.
double product_arithmetic(const KernelShape& shape, const DevicePeaks& peaks, std::span<const double> c) {
  double best = std::numeric_limits<double>::max();
  for (std::size_t i = 0; i < tiles.size(); ++i) {
    const double rows = std::ceil(shape.m / tiles[i].m - 1e-9);
    const double columns = std::ceil(shape.n / tiles[i].n - 1e-9);
    const double padding = rows * tiles[i].m / shape.m * (columns * tiles[i].n / shape.n);
    double idle = 1;
    if (peaks.multiprocessors > 0) {
      double blocks = shape.count * rows * columns;
      const double parts = std::clamp(std::floor(peaks.multiprocessors / blocks), 1.0,
                                      std::max(1.0, std::floor(shape.k / least_split_depth)));
      blocks *= parts;
      const double waves = blocks / peaks.multiprocessors;
      idle = std::pow(std::ceil(waves - 1e-9) / waves, c[wave]);
    }
    best = std::min(best, padding * idle / std::pow(c[tile_loss], tile_steps[i]));
  }
  return best * shape.flops * (1 + c[depth] / shape.k) / (peaks.flop_rate * c[peak]);
}

double product_time(const KernelShape& shape, const DevicePeaks& peaks, std::span<const double> c) {
  const double traffic = shape.bytes / (peaks.bandwidth * c[bandwidth]);
  return c[start] * microsecond + soft_max(product_arithmetic(shape, peaks, c), traffic, c[sharpness]);
}

double product_least(const KernelShape& shape, const DevicePeaks& peaks, std::span<const double> c) {
  return soft_max(shape.flops / (peaks.flop_rate * c[peak]), shape.bytes / (peaks.bandwidth * c[bandwidth]), c[sharpness]);
}

/// Winograd's algorithm multiplies less and moves its transforms [Lavin and Gray, "Fast algorithms for convolutional neural
/// networks", CVPR 2016]. Libraries have it for windows of 3 × 3 without matrix units.
double by_fast_window(const KernelShape& shape, const DevicePeaks& peaks, std::span<const double> c) {
  return soft_max(shape.flops / (peaks.flop_rate * c[peak] * c[fast_window]),
                  2 * shape.bytes / (peaks.bandwidth * c[bandwidth]), c[sharpness]);
}

double convolution_time(const KernelShape& shape, const DevicePeaks& peaks, std::span<const double> c) {
  const double traffic = shape.bytes / (peaks.bandwidth * c[bandwidth]);
  double time = soft_max(product_arithmetic(shape, peaks, c), traffic, c[sharpness]);
  if (shape.is_square3 && !peaks.has_matrix_units) time = std::min(time, by_fast_window(shape, peaks, c));
  return c[start] * microsecond + time;
}

double convolution_least(const KernelShape& shape, const DevicePeaks& peaks, std::span<const double> c) {
  const double time = product_least(shape, peaks, c);
  return shape.is_square3 && !peaks.has_matrix_units ? std::min(time, by_fast_window(shape, peaks, c)) : time;
}

// Attention whose scores stay on the chip [Dao et al., "FlashAttention", NeurIPS 2022]: blocks of 128 queries that walk
// along their keys, with an exponential for each score.
enum Attention : std::size_t { a_start, a_peak, a_bandwidth, a_sharpness, a_exponential, a_block, a_wave };
constexpr std::array<KernelConstant, 7> attention_constants{{
    {"start", 6, 0.3, 300},
    {"peak", 0.65, 0.05, 1.2},
    {"bandwidth", 0.6, 0.05, 2},
    {"sharpness", 1.5, 1.02, 8},
    {"exponential", 1, 0.01, 200},  // femtoseconds of the whole device for each score
    {"block", 0.3, 0.005, 20},      // microseconds
    {"wave", 0.9, 0.01, 0.99},
}};
constexpr double query_block = 128;
constexpr double femtosecond = 1e-15;

double attention_time(const KernelShape& shape, const DevicePeaks& peaks, std::span<const double> c) {
  const double blocks_each = std::ceil(shape.m / query_block - 1e-9);
  // Where a mask hides keys, a block still works on all of those that its last query sees.
  const bool masked = shape.n < shape.m;
  const double keys =
      masked ? std::max(shape.n + query_block / 2, query_block) : std::ceil(shape.n / query_block - 1e-9) * query_block;
  const double blocks = shape.count * blocks_each;
  const double pairs = query_block * keys;
  const double units = std::max(1.0, peaks.multiprocessors);
  const double flops_of_pair = shape.flops / (shape.count * shape.m * shape.n);
  const double of_block = pairs * flops_of_pair / (peaks.flop_rate * c[a_peak] / units) +
                          pairs * c[a_exponential] * femtosecond * units + c[a_block] * microsecond;
  const double waves = blocks / units;
  const double idle = peaks.multiprocessors > 0 ? std::pow(std::ceil(waves - 1e-9) / waves, c[a_wave]) : 1;
  const double traffic = shape.bytes / (peaks.bandwidth * c[a_bandwidth]);
  return c[a_start] * microsecond + soft_max(of_block * waves * idle, traffic, c[a_sharpness]);
}

double attention_least(const KernelShape& shape, const DevicePeaks& peaks, std::span<const double> c) {
  return soft_max(shape.flops / (peaks.flop_rate * c[a_peak]), shape.bytes / (peaks.bandwidth * c[a_bandwidth]),
                  c[a_sharpness]);
}

constexpr KernelForm traffic_form{"traffic", traffic_constants, traffic_time, traffic_least};
constexpr KernelForm product_form{"product", product_constants, product_time, product_least};
constexpr KernelForm convolution_form{"convolution", convolution_constants, convolution_time, convolution_least};
constexpr KernelForm attention_form{"attention", attention_constants, attention_time, attention_least};

}  // namespace

KernelShape shape_of(const Work& work, double samples, double item_bytes) {
  KernelShape shape{.kind = work.kernel_kind(),
                    .flops = work.flops * samples,
                    .bytes = (work.activation_items * samples + work.weight_items) * item_bytes,
                    .m = work.m,
                    .n = work.n,
                    .k = work.k,
                    .count = work.count,
                    .is_square3 = work.is_square3};
  switch (work.batched) {
    case Work::Batched::m:
      shape.m *= samples;
      break;
    case Work::Batched::n:
      shape.n *= samples;
      break;
    case Work::Batched::k:
      shape.k *= samples;
      break;
    case Work::Batched::count:
      shape.count *= samples;
      break;
  }
  return shape;
}

const KernelForm& form_of(KernelKind kind) {
  switch (kind) {
    case KernelKind::matrix_product:
      return product_form;
    case KernelKind::convolution:
      return convolution_form;
    case KernelKind::fused_attention:
      return attention_form;
    default:
      return traffic_form;
  }
}

}  // namespace ddl
