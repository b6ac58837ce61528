#include "estimator/measured_kernels.hpp"

namespace ddl {

StepOverhead overhead_of(const std::vector<MeasuredPhase>& phases) {
  Seconds whole{}, kernels{};
  double per_kernel = 0;
  double counted = 0;
  for (const MeasuredPhase& phase : phases) {
    const Seconds own = phase.whole - phase.fresh_memory;
    if (phase.count <= 0 || phase.kernels.value() <= 0 || own.value() <= 0) continue;
    whole += own;
    kernels += phase.kernels;
    per_kernel += (own - phase.kernels).value() / phase.count;
    counted += 1;
  }
  if (counted == 0) return {};
  if (whole < kernels) return {.factor = whole / kernels};
  return {.per_kernel = max(Seconds{}, Seconds(per_kernel / counted))};
}

}  // namespace ddl
