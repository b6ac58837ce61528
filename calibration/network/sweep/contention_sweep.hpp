#pragma once

#include <vector>

#include "calibration/network/sweep/step_timing.hpp"
#include "core/statistics.hpp"

namespace ddl {

/// The slowdown of a number of concurrent groups across nodes, compared with one group alone.
struct ContentionPoint {
  int groups = 1;
  double slowdown = 1;  ///< time per byte divided by the time per byte of one group alone
  Interval interval{};  ///< interval of `slowdown`, derived from the intervals of the measured medians
};

/// Times Allreduces of 1, 2, 4, … concurrent groups, each with one rank of every node. The time per byte follows from the
/// times of `largest` bytes and of a quarter of it: in their difference, α and all other times that do not grow with the
/// message cancel out. Empty if there are not two groups across nodes.
[[nodiscard]] std::vector<ContentionPoint> sweep_contention(Transport& transport, std::int64_t largest,
                                                            const TimingRule& rule);

}  // namespace ddl
