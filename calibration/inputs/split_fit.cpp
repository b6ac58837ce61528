#include "calibration/inputs/split_fit.hpp"

#include <algorithm>
#include <cassert>

#include <Eigen/Core>

namespace ddl {

double fit_undivided_fraction(Seconds unsplit, std::span<const SplitPoint> points) {
  // T(p)/T(1) − 1/p = s·(1 − 1/p) is a line through the origin. Its least-squares slope is x·y / x·x.
  const auto count = static_cast<Eigen::Index>(points.size());
  Eigen::VectorXd x(count);
  Eigen::VectorXd y(count);
  for (Eigen::Index i = 0; i < count; ++i) {
    const SplitPoint& point = points[static_cast<std::size_t>(i)];
    x[i] = 1 - 1.0 / point.parts;
    y[i] = point.time / unsplit - 1.0 / point.parts;
  }
  const double xx = x.squaredNorm();
  assert(xx > 0);
  return std::clamp(x.dot(y) / xx, 0.0, 1.0);
}

}  // namespace ddl
