#pragma once

#include <vector>

#include "calibration/network/sweep/step_timing.hpp"
#include "core/statistics.hpp"

namespace ddl {

/// So many groups that leave their nodes at once, beside one alone.
struct ContentionPoint {
  int groups = 1;
  double slowdown = 1;  ///< time of a byte over that of one group alone
  Interval interval{};  ///< from those of the medians it is made of
};

/// Allreduces of 1, 2, 4, … groups at once, each with one rank of every node. What a byte takes is what `largest` bytes take
/// longer than a quarter of them, so that α and all that does not grow with the message cancels out. Empty where no two
/// groups leave a node.
[[nodiscard]] std::vector<ContentionPoint> sweep_contention(Transport& transport, std::int64_t largest,
                                                            const TimingRule& rule);

}  // namespace ddl
