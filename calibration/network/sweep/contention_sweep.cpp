#include "calibration/network/sweep/contention_sweep.hpp"

#include <algorithm>

#include "calibration/network/sweep/sweep_groups.hpp"

namespace ddl {

std::vector<ContentionPoint> sweep_contention(Transport& transport, std::int64_t largest, const TimingRule& rule) {
  constexpr std::int64_t floats = sizeof(float);
  const std::int64_t large = std::max<std::int64_t>(largest / floats, 4) * floats;
  const std::int64_t small = large / floats / 4 * floats;
  struct Slope {
    double value = 0, low = 0, high = 0;
  };
  const auto slope_of = [&](const std::vector<std::vector<int>>& groups) {
    const auto samples = [&](std::int64_t bytes) {
      return time_step(transport, {.operation = SweepOperation::allreduce, .bytes = bytes, .groups = groups}, rule).samples;
    };
    const Samples at_large = samples(large), at_small = samples(small);
    return Slope{(at_large.median - at_small.median).value(), (at_large.low - at_small.high).value(),
                 (at_large.high - at_small.low).value()};
  };
  std::vector<ContentionPoint> points;
  Slope alone;
  for (const auto& groups : sweep_contenders(transport.nodes())) {
    const Slope slope = slope_of(groups);
    if (points.empty()) alone = slope;
    // If the noise is so large that a longer message does not take longer, there is no result.
    if (alone.low <= 0 || slope.value <= 0) return {};
    points.push_back({static_cast<int>(groups.size()), slope.value / alone.value,
                      Interval{std::max(0.0, slope.low / alone.high), slope.high / alone.low}});
    if (points.size() == 1) points.front().interval = {1, 1};
  }
  return points;
}

}  // namespace ddl
