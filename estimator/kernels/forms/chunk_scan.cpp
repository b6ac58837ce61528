#include "estimator/kernels/forms/forms.hpp"

namespace ddl {
namespace chunk_scan {
namespace {

// This form predicts the matrix products inside the chunks of a state-space recurrence, and the
// products of its states [Dao and Gu, "Transformers are SSMs", ICML 2024, section 6]. The products
// use small tiles, and exponentials scale the elements. A multiprocessor does about the same number of
// FLOPs per clock cycle on all devices, whatever rate its matrix units reach with large tiles.
enum Constant : std::size_t { start, cycle, bandwidth, sharpness };
constexpr std::array<KernelConstant, 4> constants{{
    {"start", 3, 0.3, 300},
    {"cycle", 600, 1, 20000},  // FLOPs of a multiprocessor in a clock cycle
    {"bandwidth", 0.8, 0.02, 2},
    {"sharpness", 2, 1.02, 8},
}};

double least(const KernelShape& shape, const DevicePeaks& peaks, std::span<const double> c) {
  const double rate = std::min(peaks.flop_rate, peaks.cycle_rate * c[cycle]);
  return soft_max(shape.flops / rate, shape.bytes / (peaks.bandwidth * c[bandwidth]), c[sharpness]);
}

double time(const KernelShape& shape, const DevicePeaks& peaks, std::span<const double> c) {
  return c[start] * microsecond + least(shape, peaks, c);
}

constexpr KernelForm form{"chunk scan", constants, chunk_scan::time, chunk_scan::least};

}  // namespace
}  // namespace chunk_scan

const KernelForm& chunk_scan_form() { return chunk_scan::form; }

}  // namespace ddl
