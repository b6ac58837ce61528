#include "estimator/kernels/forms/forms.hpp"

namespace ddl {
namespace direct_convolution {
namespace {

// This form predicts grouped convolutions with products that are too small for matrix units. Each thread multiplies loaded
// elements by a few filters. The more channels a group has, the more often a loaded element is used.
enum Constant : std::size_t { start, bandwidth, peak, width };
constexpr std::array<KernelConstant, 4> constants{{
    {"start", 3, 0.3, 300},
    {"bandwidth", 0.35, 0.02, 2},
    {"peak", 0.3, 0.001, 1},
    {"width", 0, 0, 1, false, true},
}};

double least(const KernelShape& shape, const DevicePeaks& peaks, std::span<const double> c) {
  const double reuse = std::pow(std::max(1.0, shape.group_channels), c[width]);
  return std::max(shape.bytes / (peaks.bandwidth * c[bandwidth]), shape.flops / (peaks.vector_flop_rate * c[peak] * reuse));
}

double time(const KernelShape& shape, const DevicePeaks& peaks, std::span<const double> c) {
  constexpr double sharpness = 2;  // exponent of soft_max, as for memory-bound operations
  return soft_max(c[start] * microsecond, least(shape, peaks, c), sharpness);
}

constexpr KernelForm form{"direct convolution", constants, direct_convolution::time, direct_convolution::least};

}  // namespace
}  // namespace direct_convolution

const KernelForm& direct_convolution_form() { return direct_convolution::form; }

}  // namespace ddl
