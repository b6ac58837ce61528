#pragma once

#include <vector>

#include "calibration/network/sweep/step_timing.hpp"
#include "core/statistics.hpp"

namespace ddl {

/// The slowdown of several concurrent groups across nodes, relative to one group that communicates alone.
struct ContentionPoint {
  int groups = 1;
  double slowdown = 1;  ///< time per byte divided by the time per byte of one group alone
  Interval interval{};  ///< interval of `slowdown`, derived from the intervals of the measured medians
};

/// Times Allreduces of 1, 2, 4, … concurrent groups. Each group has one rank of every node. The time per byte follows from
/// the difference of two times: with `largest` bytes, and with a quarter of these bytes. α and all other times that do not
/// depend on the message size cancel out in the difference. Empty if there are fewer than two groups across nodes.
[[nodiscard]] std::vector<ContentionPoint> sweep_contention(Transport& transport, std::int64_t largest,
                                                            const TimingRule& rule);

}  // namespace ddl
