#include "estimator/layers/zero_parts.hpp"

#include <algorithm>
#include <cstddef>

namespace ddl {

bool ZeroPart::contains(int layer) const {
  return std::any_of(ranges.begin(), ranges.end(),
                     [layer](const LayerRange& range) { return range.first <= layer && layer < range.last; });
}

std::vector<ZeroPart> zero_parts(const Plan& plan, int first, int last) {
  std::vector<ZeroPart> parts;
  const std::vector<ZeroSegment>& segments = plan.zero_segments;
  for (std::size_t i = 0; i <= segments.size(); ++i) {
    const int from = std::max(first, i == 0 ? first : segments[i - 1].first);
    const int to = std::min(last, i < segments.size() ? segments[i].first : last);
    if (from >= to) continue;
    const int stage = i == 0 ? plan.zero_stage : segments[i - 1].stage;
    const auto known =
        std::find_if(parts.begin(), parts.end(), [stage](const ZeroPart& part) { return part.plan.zero_stage == stage; });
    if (known != parts.end()) {
      if (known->ranges.back().last == from) {
        known->ranges.back().last = to;
      } else {
        known->ranges.push_back({from, to});
      }
    } else {
      parts.push_back({with_zero_stage(plan, stage), {{from, to}}});
    }
  }
  return parts;
}

LayerCosts costs_of(const LayerCostTable& costs, const ZeroPart& part) {
  LayerCosts sum;
  for (const LayerRange& range : part.ranges) sum.add(costs.between(range.first, range.last), 1.0);
  return sum;
}

double blocks_of(const ModelFacts& facts, const ZeroPart& part) {
  double blocks = 0;
  for (const LayerRange& range : part.ranges) blocks += blocks_between(facts, range.first, range.last);
  return blocks;
}

}  // namespace ddl
