#include "estimator/kernels/forms/forms.hpp"

namespace ddl {
namespace traffic {
namespace {

// This form predicts elementwise operations, norms, softmax, dropout, lookups and depthwise
// convolutions. Their time is limited by memory bandwidth, by the elements that a multiprocessor loads
// and stores per clock cycle, or, if very small, by the launch.
enum Constant : std::size_t { start, bandwidth, peak, items };
constexpr double unlimited = 1000;  ///< a number of elements per clock cycle that never limits a kernel
constexpr std::array<KernelConstant, 4> constants{{
    {"start", 3, 0.3, 300},
    {"bandwidth", 0.85, 0.02, 2},
    {"peak", 0.8, 0.005, 1},
    {"items", unlimited, 0.05, unlimited, false, true},
}};

double least(const KernelShape& shape, const DevicePeaks& peaks, std::span<const double> c) {
  // The two times do not overlap: threads that wait for memory issue no instructions.
  const double issue = c[items] < unlimited ? shape.items / (peaks.cycle_rate * c[items]) : 0;
  return std::max(shape.bytes / (peaks.bandwidth * c[bandwidth]) + issue, shape.flops / (peaks.vector_flop_rate * c[peak]));
}

double time(const KernelShape& shape, const DevicePeaks& peaks, std::span<const double> c) {
  // The first wave of blocks starts while the last wave of the previous kernel drains, so launch and traffic overlap in
  // part.
  constexpr double sharpness = 2;
  return soft_max(c[start] * microsecond, least(shape, peaks, c), sharpness);
}

constexpr KernelForm form{"traffic", constants, time, least};

}  // namespace
}  // namespace traffic

const KernelForm& traffic_form() { return traffic::form; }

}  // namespace ddl
