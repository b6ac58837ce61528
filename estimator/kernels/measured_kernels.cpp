#include "estimator/kernels/measured_kernels.hpp"

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

StepOverhead overhead_of_one_kind(const std::vector<MeasuredPhase>& phases) {
  // The coefficients of the normal equations of two unknowns.
  double aa = 0;
  double ab = 0;
  double bb = 0;
  double a1 = 0;
  double b1 = 0;
  for (const MeasuredPhase& phase : phases) {
    const Seconds own = phase.whole - phase.fresh_memory;
    if (phase.count <= 0 || phase.kernels.value() <= 0 || own.value() <= 0) continue;
    const double a = phase.kernels / own;
    const double b = phase.count / own.value();
    aa += a * a;
    ab += a * b;
    bb += b * b;
    a1 += a;
    b1 += b;
  }
  const double determinant = aa * bb - ab * ab;
  // The least allowed squared sine of the angle between the vector of times and the vector of
  // counts. At smaller angles, the vectors are almost parallel, and noise would be amplified.
  constexpr double least_difference = 0.05;
  if (!(determinant > least_difference * aa * bb)) return overhead_of(phases);
  const double factor = (a1 * bb - b1 * ab) / determinant;
  const double start = (b1 * aa - a1 * ab) / determinant;
  if (factor <= 0) return overhead_of(phases);
  if (start < 0) return {.factor = a1 / aa};
  return {.per_kernel = Seconds(start), .factor = factor};
}

}  // namespace ddl
