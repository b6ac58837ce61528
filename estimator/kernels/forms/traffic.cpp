#include "estimator/kernels/forms/forms.hpp"

namespace ddl {
namespace traffic {
namespace {

// Elementwise operations, norms, softmax, dropout, lookups: the device's memory decides, and for very small ones the start.
enum Constant : std::size_t { start, bandwidth, peak };
constexpr std::array<KernelConstant, 3> constants{{
    {"start", 3, 0.3, 300},
    {"bandwidth", 0.85, 0.02, 2},
    {"peak", 0.8, 0.05, 1},
}};

double least(const KernelShape& shape, const DevicePeaks& peaks, std::span<const double> c) {
  return std::max(shape.bytes / (peaks.bandwidth * c[bandwidth]), shape.flops / (peaks.vector_flop_rate * c[peak]));
}

double time(const KernelShape& shape, const DevicePeaks& peaks, std::span<const double> c) {
  // The first wave of blocks fills while the last of the kernel before drains: start and traffic overlap in part.
  constexpr double sharpness = 2;
  return soft_max(c[start] * microsecond, least(shape, peaks, c), sharpness);
}

constexpr KernelForm form{"traffic", constants, time, least};

}  // namespace
}  // namespace traffic

const KernelForm& traffic_form() { return traffic::form; }

}  // namespace ddl
