#include "estimator/kernels/forms/forms.hpp"

namespace ddl {
namespace convolution {
namespace {

using namespace product;

constexpr std::array<KernelConstant, 9> constants{{
    {"start", 8, 0.3, 300},
    {"peak", 0.75, 0.05, 1.2},
    {"bandwidth", 0.75, 0.05, 2},
    {"sharpness", 2.5, 1.02, 8},
    {"depth", 100, 1, 1000},
    {"tile_loss", 0.93, 0.5, 0.995},
    {"wave", 0.7, 0.01, 0.99},
    {"fast_window", 1.8, 1, 4},
    {"operands", unlimited_operands, 1, unlimited_operands, false},
}};

/// Winograd's algorithm multiplies less and moves its transforms [Lavin and Gray, "Fast algorithms for convolutional neural
/// networks", CVPR 2016]. Libraries have it for windows of 3 × 3 without matrix units.
double by_fast_window(const KernelShape& shape, const DevicePeaks& peaks, std::span<const double> c) {
  return soft_max(shape.flops / (peaks.flop_rate * c[peak] * c[fast_window]),
                  2 * shape.bytes / (peaks.bandwidth * c[bandwidth]), c[sharpness]);
}

double time(const KernelShape& shape, const DevicePeaks& peaks, std::span<const double> c) {
  const double traffic = shape.bytes / (peaks.bandwidth * c[bandwidth]);
  double time = soft_max(arithmetic(shape, peaks, c, c[operands]), traffic, c[sharpness]);
  if (shape.is_square3 && !peaks.has_matrix_units) time = std::min(time, by_fast_window(shape, peaks, c));
  return c[start] * microsecond + time;
}

double least(const KernelShape& shape, const DevicePeaks& peaks, std::span<const double> c) {
  const double time = product::least(shape, peaks, c);
  return shape.is_square3 && !peaks.has_matrix_units ? std::min(time, by_fast_window(shape, peaks, c)) : time;
}

constexpr KernelForm form{"convolution", constants, convolution::time, convolution::least};

}  // namespace
}  // namespace convolution

const KernelForm& convolution_form() { return convolution::form; }

}  // namespace ddl
