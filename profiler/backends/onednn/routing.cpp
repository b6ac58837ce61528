#include "profiler/backends/onednn/routing.hpp"

namespace ddl::onednn {

void best_of(const float* scores, std::int64_t count, std::int64_t active, std::int64_t* places) {
  // Keeps the best scores so far by insertion sort, because there are few experts.
  std::int64_t taken = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    if (taken == active && !(scores[i] > scores[places[taken - 1]])) continue;
    if (taken < active) ++taken;
    std::int64_t place = taken - 1;
    for (; place > 0 && scores[i] > scores[places[place - 1]]; --place) places[place] = places[place - 1];
    places[place] = i;
  }
}

Routing::Routing(const float* scores, std::int64_t rows, std::int64_t experts, std::int64_t active)
    : token(static_cast<std::size_t>(rows * active)), expert(static_cast<std::size_t>(rows * active)) {
  std::vector<std::int64_t> chosen(static_cast<std::size_t>(rows * active));
  // next copy of each expert, counted from its first copy
  std::vector<std::int64_t> next(static_cast<std::size_t>(experts) + 1, 0);
  for (std::int64_t row = 0; row < rows; ++row) {
    std::int64_t* const places = chosen.data() + row * active;
    best_of(scores + row * experts, experts, active, places);
    for (std::int64_t i = 0; i < active; ++i) ++next[static_cast<std::size_t>(places[i]) + 1];
  }
  for (std::size_t e = 1; e < next.size(); ++e) next[e] += next[e - 1];
  for (std::int64_t i = 0; i < rows * active; ++i) {
    const std::int64_t one = chosen[static_cast<std::size_t>(i)];
    const auto copy = static_cast<std::size_t>(next[static_cast<std::size_t>(one)]++);
    token[copy] = i / active;
    expert[copy] = one;
  }
}

}  // namespace ddl::onednn
