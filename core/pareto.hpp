#pragma once

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <utility>
#include <vector>

namespace ddl {

/// Of points of two costs, whether each lies on the Pareto front: no other one costs less in one of them and no more in the
/// other. Points that are equal in both are all on it, or none is. Neither cost is nan.
[[nodiscard]] inline std::vector<bool> pareto_front(const std::vector<std::pair<double, double>>& points) {
  std::vector<std::size_t> order(points.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return points[a] < points[b]; });
  std::vector<bool> on_front(points.size(), false);
  // In the order of the first cost, the front is where the second one is less than ever before.
  const std::pair<double, double>* last = nullptr;
  for (const std::size_t i : order) {
    if (last != nullptr && points[i].second >= last->second && points[i] != *last) continue;
    on_front[i] = true;
    last = &points[i];
  }
  return on_front;
}

}  // namespace ddl
