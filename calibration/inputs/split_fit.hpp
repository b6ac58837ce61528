#pragma once

#include <span>

#include "core/quantity.hpp"

namespace ddl {

/// One measured time of the layers of a network whose filters (or channels) are split over `parts` devices.
struct SplitPoint {
  int parts = 1;
  Seconds time{};
};

/// The fraction s of `unsplit` that does not shrink when the work is divided: least squares of T(p) = T(1)·(s + (1−s)/p)
/// over the points, bounded to [0, 1]. 1 says that splitting saves nothing, which is also what times above T(1) are taken
/// for; 0 that it is perfect. Some point must have more than one part.
[[nodiscard]] double fit_undivided_fraction(Seconds unsplit, std::span<const SplitPoint> points);

}  // namespace ddl
