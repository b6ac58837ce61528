#pragma once

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <utility>
#include <vector>

namespace ddl {

/// Returns for each point whether it is on the Pareto front. A point has two costs. It is on the
/// front if no other point is lower in one cost without being higher in the other cost. Points with
/// equal costs are either all on the front or all off the front. Costs must not be NaN.
[[nodiscard]] inline std::vector<bool> pareto_front(const std::vector<std::pair<double, double>>& points) {
  std::vector<std::size_t> order(points.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return points[a] < points[b]; });
  std::vector<bool> on_front(points.size(), false);
  // The points are visited in order of the first cost. A point is on the front if its second cost is a new minimum.
  const std::pair<double, double>* last = nullptr;
  for (const std::size_t i : order) {
    if (last != nullptr && points[i].second >= last->second && points[i] != *last) continue;
    on_front[i] = true;
    last = &points[i];
  }
  return on_front;
}

}  // namespace ddl
