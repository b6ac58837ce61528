#pragma once

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <utility>
#include <vector>

namespace ddl {

/// For points with two costs, returns whether each is on the Pareto front: no other one costs less in one of them and no
/// more in the other. Points that are equal in both are either all on it or not. Costs must not be NaN.
[[nodiscard]] inline std::vector<bool> pareto_front(const std::vector<std::pair<double, double>>& points) {
  std::vector<std::size_t> order(points.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return points[a] < points[b]; });
  std::vector<bool> on_front(points.size(), false);
  // In the order of the first cost, the front consists of the points with a new minimum of the second.
  const std::pair<double, double>* last = nullptr;
  for (const std::size_t i : order) {
    if (last != nullptr && points[i].second >= last->second && points[i] != *last) continue;
    on_front[i] = true;
    last = &points[i];
  }
  return on_front;
}

}  // namespace ddl
