#pragma once

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <utility>
#include <vector>

namespace ddl {

/// For points with two costs, returns whether each is on the Pareto front: no other point has one lower cost and the other
/// cost not higher. Points that are equal in both costs are either all on the front or not. Costs must not be NaN.
[[nodiscard]] inline std::vector<bool> pareto_front(const std::vector<std::pair<double, double>>& points) {
  std::vector<std::size_t> order(points.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return points[a] < points[b]; });
  std::vector<bool> on_front(points.size(), false);
  // Sorted by the first cost, the front consists of the points with a new minimum of the second cost.
  const std::pair<double, double>* last = nullptr;
  for (const std::size_t i : order) {
    if (last != nullptr && points[i].second >= last->second && points[i] != *last) continue;
    on_front[i] = true;
    last = &points[i];
  }
  return on_front;
}

}  // namespace ddl
