#include "calibration/split_fit.hpp"

#include <algorithm>
#include <cassert>

namespace ddl {

double fit_undivided_fraction(Seconds unsplit, std::span<const SplitPoint> points) {
  // T(p)/T(1) − 1/p = s·(1 − 1/p) is a line through the origin, whose least-squares slope is Σxy / Σx².
  double xy = 0;
  double xx = 0;
  for (const SplitPoint& point : points) {
    const double share = 1.0 / point.parts;
    const double x = 1 - share;
    xy += x * (point.time / unsplit - share);
    xx += x * x;
  }
  assert(xx > 0);
  return std::clamp(xy / xx, 0.0, 1.0);
}

}  // namespace ddl
