#include "estimator/measured_kernels.hpp"

namespace ddl {

StepOverhead overhead_of(const std::vector<MeasuredPhase>& phases) {
  Seconds whole{}, kernels{};
  double per_kernel = 0;
  double counted = 0;
  for (const MeasuredPhase& phase : phases) {
    if (phase.count <= 0 || phase.kernels.value() <= 0 || phase.whole.value() <= 0) continue;
    whole += phase.whole;
    kernels += phase.kernels;
    per_kernel += (phase.whole - phase.kernels).value() / phase.count;
    counted += 1;
  }
  if (counted == 0) return {};
  if (whole < kernels) return {.factor = whole / kernels};
  return {.per_kernel = max(Seconds{}, Seconds(per_kernel / counted))};
}

}  // namespace ddl
