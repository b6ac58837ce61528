#include "estimator/measured_kernels.hpp"

#include <optional>

namespace ddl {
namespace {

/// One phase in parts of its whole: whole = factor·kernels + per_kernel·count is 1 = factor·x + per_kernel·y.
struct Parts {
  double x = 0, y = 0;
};

/// Least squares of the relative errors where the phases tell the two apart; nothing where they do not, or where one of them
/// would be nonsense.
std::optional<StepOverhead> both(const std::vector<Parts>& phases) {
  double xx = 0, xy = 0, yy = 0, x = 0, y = 0;
  for (const Parts& phase : phases) {
    xx += phase.x * phase.x;
    xy += phase.x * phase.y;
    yy += phase.y * phase.y;
    x += phase.x;
    y += phase.y;
  }
  // The sine of the angle between the two is 0.2 at least: kernels that are a fifth longer or shorter on average.
  constexpr double least_angle = 0.04;
  const double determinant = xx * yy - xy * xy;
  if (determinant < least_angle * xx * yy) return std::nullopt;
  const double factor = (x * yy - y * xy) / determinant;
  const double per_kernel = (y * xx - x * xy) / determinant;
  if (per_kernel < 0) return StepOverhead{.per_kernel = Seconds{}, .factor = x / xx};
  constexpr double least_factor = 0.5;
  if (factor < least_factor) return std::nullopt;
  return StepOverhead{.per_kernel = Seconds(per_kernel), .factor = factor};
}

}  // namespace

StepOverhead overhead_of(const std::vector<MeasuredPhase>& phases) {
  Seconds whole{}, kernels{};
  double per_kernel = 0;
  std::vector<Parts> parts;
  for (const MeasuredPhase& phase : phases) {
    const Seconds own = phase.whole - phase.fresh_memory;
    if (phase.count <= 0 || phase.kernels.value() <= 0 || own.value() <= 0) continue;
    whole += own;
    kernels += phase.kernels;
    per_kernel += (own - phase.kernels).value() / phase.count;
    parts.push_back({phase.kernels / own, phase.count / own.value()});
  }
  if (parts.empty()) return {};
  if (const auto found = both(parts)) return *found;
  if (whole < kernels) return {.factor = whole / kernels};
  return {.per_kernel = max(Seconds{}, Seconds(per_kernel / static_cast<double>(parts.size())))};
}

}  // namespace ddl
