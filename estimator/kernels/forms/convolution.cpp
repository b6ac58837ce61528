#include "estimator/kernels/forms/forms.hpp"

namespace ddl {
namespace convolution {
namespace {

using namespace product;

constexpr double unlimited_operands = 1000;  ///< a number of bytes per clock cycle that never limits a kernel
enum More : std::size_t { fused_tiles = product::wave + 1, separate_tiles, transforms, spreading, operands };
constexpr std::array<KernelConstant, 12> constants{{
    {"start", 8, 0.3, 300},
    {"peak", 0.75, 0.05, 1.2},
    {"bandwidth", 0.75, 0.05, 2},
    {"sharpness", 2.5, 1.02, 8},
    {"depth", 100, 1, 1000},
    {"tile_loss", 0.93, 0.5, 0.995},
    {"wave", 0.7, 0.01, 0.99},
    {"fused_tiles", 0.6, 0.1, 1.2, true, true},
    {"separate_tiles", 0.7, 0.1, 1.2, true, true},
    {"transforms", 0.75, 0.2, 1.5, true, true},
    {"spreading", 0.5, 0.001, 1.2, true, true},
    {"operands", unlimited_operands, 1, unlimited_operands, false, true},
}};

/// Winograd's algorithm computes square tiles of the output with fewer multiplications, on transformed tiles of the input
/// and transformed filters [Lavin and Gray, "Fast algorithms for convolutional neural networks", CVPR 2016]. Images are
/// padded to whole tiles.
struct WinogradTiles {
  double side;      ///< side of a tile of the output
  double products;  ///< multiplications per tile and pair of channels: (side + 2)²
};
constexpr WinogradTiles small_tiles{2, 16}, large_tiles{4, 36};
/// A fused kernel, which both transforms and multiplies, uses blocks of 32 tiles and 64 filters.
constexpr std::array<Tile, 1> fused_blocks{{{32, 64, 0}}};
/// Multiplications per position in a window of 3 × 3.
constexpr double window = 9;
/// Kernels that transform filters move this multiple of the bytes of the transformed filters.
constexpr double filter_passes = 3;

/// Returns the number of positions that the tiles of one image cover, divided by the number of positions of the image.
double filling(const KernelShape& shape, double side) {
  return std::ceil(shape.square3_rows / side - 1e-9) * std::ceil(shape.square3_columns / side - 1e-9) * side * side /
         (shape.square3_rows * shape.square3_columns);
}

double tiles_of_position(const KernelShape& shape, const WinogradTiles& tiles) {
  return filling(shape, tiles.side) / (tiles.side * tiles.side);
}

double multiplied(const KernelShape& shape, const WinogradTiles& tiles) {
  return shape.flops * tiles_of_position(shape, tiles) * tiles.products / window;
}

/// Returns one of the batched matrix products of Winograd's algorithm. Each product multiplies the elements at one position
/// of all transformed tiles, so a tile needs as many products as it has positions.
KernelShape transformed(KernelShape shape, const WinogradTiles& tiles) {
  shape.flops = multiplied(shape, tiles);
  shape.m *= tiles_of_position(shape, tiles);
  shape.k /= window;
  return shape;
}

/// Returns the time with tiles of 2 × 2, which one kernel transforms and multiplies.
double by_fused_tiles(const KernelShape& shape, const DevicePeaks& peaks, std::span<const double> c) {
  std::array<double, constants.size()> own{};
  std::copy(c.begin(), c.end(), own.begin());
  own[peak] = c[fused_tiles];
  return soft_max(arithmetic(transformed(shape, small_tiles), peaks, own, fused_blocks, {.are_split = false}),
                  shape.bytes / (peaks.bandwidth * c[bandwidth]), c[sharpness]);
}

/// Returns the time with tiles of 4 × 4. Separate kernels transform these tiles, so the transformed
/// data is written and read.
double by_separate_tiles(const KernelShape& shape, const DevicePeaks& peaks, std::span<const double> c) {
  std::array<double, constants.size()> own{};
  std::copy(c.begin(), c.end(), own.begin());
  own[peak] = c[separate_tiles];
  KernelShape products = transformed(shape, large_tiles);
  products.count *= large_tiles.products;
  // The tiles of one channel of an image cover as many positions as the channel has elements.
  const double filter_bytes = shape.flops / (2 * shape.m) * shape.bytes / shape.items;
  const double image_bytes = std::max(0.0, shape.bytes - filter_bytes);
  const double places = large_tiles.products * tiles_of_position(shape, large_tiles);
  const double moved =
      shape.bytes + 2 * places * image_bytes + 2 * filter_passes * large_tiles.products / window * filter_bytes;
  return arithmetic(products, peaks, own, tiles(), {.are_split = false}) + moved / (peaks.bandwidth * c[transforms]);
}

/// Returns the time of the gradients of weights. These gradients use only tiles of 4 × 4, because
/// cuDNN has no kernel that both transforms and multiplies for them (managedCuda's documentation of
/// cudnnConvolutionBwdFilterAlgo). Padding, idle multiprocessors and pipeline depth are not counted
/// (inferred: with them, DeepBench's times on V100, T4 and P100 are predicted worse).
double by_summed_tiles(const KernelShape& shape, const DevicePeaks& peaks, std::span<const double> c) {
  return soft_max(multiplied(shape, large_tiles) / (peaks.flop_rate * c[separate_tiles]),
                  2 * shape.bytes / (peaks.bandwidth * c[bandwidth]), c[sharpness]);
}

/// Returns the time with the best tiles. Only for devices without matrix units, and for windows of 3 × 3 with stride 1.
double by_tiles(const KernelShape& shape, const DevicePeaks& peaks, std::span<const double> c) {
  if (shape.sums_positions) return by_summed_tiles(shape, peaks, c);
  return std::min(by_fused_tiles(shape, peaks, c), by_separate_tiles(shape, peaks, c));
}

bool has_tiles(const KernelShape& shape, const DevicePeaks& peaks) {
  return shape.square3_rows > 0 && peaks.has_fast_convolutions;
}

double time(const KernelShape& shape, const DevicePeaks& peaks, std::span<const double> c) {
  const double traffic = shape.bytes / (peaks.bandwidth * c[bandwidth]);
  const Blocks blocks{.are_split = peaks.has_matrix_units || shape.sums_positions,
                      .operand_bytes = c[operands] < unlimited_operands ? c[operands] : 0};
  // The input gradient of a strided convolution is the convolution of a gradient that has zeros
  // between its positions. Some of the multiplications by zero are executed.
  const double spread = std::max(1.0, 2 * shape.m * shape.n * shape.k * shape.count / shape.flops);
  double time =
      soft_max(arithmetic(shape, peaks, c, tiles(), blocks) * std::pow(spread, c[spreading]), traffic, c[sharpness]);
  if (has_tiles(shape, peaks)) time = std::min(time, by_tiles(shape, peaks, c));
  return c[start] * microsecond + time;
}

double least(const KernelShape& shape, const DevicePeaks& peaks, std::span<const double> c) {
  const double time = product::least(shape, peaks, c);
  if (!has_tiles(shape, peaks)) return time;
  const auto least_of = [&](double side, double rate, double bandwidth, double passes) {
    const double fewer = (side + 2) * (side + 2) / (window * side * side);
    return std::max(shape.flops * fewer / (peaks.flop_rate * rate), passes * shape.bytes / (peaks.bandwidth * bandwidth));
  };
  if (shape.sums_positions) return std::min(time, least_of(4, c[separate_tiles], c[bandwidth], 2));
  return std::min({time, least_of(2, c[fused_tiles], c[bandwidth], 1), least_of(4, c[separate_tiles], c[transforms], 5)});
}

constexpr KernelForm form{"convolution", constants, convolution::time, convolution::least};

}  // namespace
}  // namespace convolution

const KernelForm& convolution_form() { return convolution::form; }

}  // namespace ddl
