#pragma once

#include <span>

#include "core/quantity.hpp"

namespace ddl {

/// One measured time of a network's layers while their filters (or channels) are split over `parts` devices.
struct SplitPoint {
  int parts = 1;
  Seconds time{};
};

/// The fraction s of `unsplit` that does not shrink when the work is divided: least squares of T(p) = T(1)·(s + (1−s)/p)
/// over the points, bounded to [0, 1]. 1 means that splitting saves no time; times above T(1) also give 1. 0 means that
/// splitting is perfect. At least one point must have more than one part.
[[nodiscard]] double fit_undivided_fraction(Seconds unsplit, std::span<const SplitPoint> points);

}  // namespace ddl
