#include "estimator/pipeline.hpp"

#include <algorithm>

namespace ddl {
namespace {

/// Consecutive layers that stay together, each with at least one layer that has weights; starts, then the layer count.
std::vector<int> units_of(const ModelFacts& facts, bool keep_blocks) {
  const auto& layers = facts.model->layers;
  const auto count = static_cast<int>(layers.size());
  std::vector<bool> weighted(layers.size(), false);
  for (const int layer : facts.weighted) weighted[static_cast<std::size_t>(layer)] = true;

  std::vector<int> starts{0};
  bool has_weights = false;
  for (int i = 0; i < count; ++i) {
    const auto index = static_cast<std::size_t>(i);
    const bool may_cut =
        i > 0 && (!keep_blocks || layers[index].block < 0 || layers[index].block != layers[index - 1].block);
    // A cut is worth making where a new weighted layer, or a new block, begins and the unit before has weights.
    const bool begins = keep_blocks && layers[index].block >= 0 ? true : static_cast<bool>(weighted[index]);
    if (may_cut && begins && has_weights) {
      starts.push_back(i);
      has_weights = false;
    }
    has_weights = has_weights || weighted[index];
  }
  if (!has_weights && starts.size() > 1) starts.pop_back();
  starts.push_back(count);
  return starts;
}

/// Deals units to stages from the left, none above `longest` where that can be helped; whether it could.
bool deal(const std::vector<double>& cost, int stages, double longest, std::vector<int>* firsts) {
  const auto units = static_cast<int>(cost.size());
  double filled = 0;
  int stage = 0;
  if (firsts != nullptr) firsts->assign(1, 0);
  for (int unit = 0; unit < units; ++unit) {
    const double own = cost[static_cast<std::size_t>(unit)];
    if (own > longest) return false;
    const bool must_leave = units - unit == stages - stage - 1;  // the units left are just enough for the stages left
    if (unit > 0 && (filled + own > longest || must_leave)) {
      ++stage;
      if (stage == stages) return false;
      filled = 0;
      if (firsts != nullptr) firsts->push_back(unit);
    }
    filled += own;
  }
  return stage == stages - 1;
}

}  // namespace

std::vector<int> balanced_stages(const ModelFacts& facts, const std::vector<LayerTimes>& serial, int stages) {
  std::vector<int> starts = units_of(facts, true);
  if (static_cast<int>(starts.size()) - 1 < stages) starts = units_of(facts, false);
  const auto units = static_cast<int>(starts.size()) - 1;
  if (units < stages) return {};

  std::vector<double> cost(static_cast<std::size_t>(units));
  double low = 0, high = 0;
  for (std::size_t unit = 0; unit < cost.size(); ++unit) {
    for (int layer = starts[unit]; layer < starts[unit + 1]; ++layer) {
      const LayerTimes& times = serial[static_cast<std::size_t>(layer)];
      cost[unit] += (times.forward + times.backward).value();
    }
    low = std::max(low, cost[unit]);
    high += cost[unit];
  }
  // A rounding error must not make the sum of all units look longer than itself.
  high *= 1 + 1e-12;
  for (int step = 0; step < 60 && high - low > 1e-12 * high; ++step) {
    const double middle = 0.5 * (low + high);
    (deal(cost, stages, middle, nullptr) ? high : low) = middle;
  }
  std::vector<int> firsts;
  if (!deal(cost, stages, high, &firsts)) return {};
  std::vector<int> layers;
  layers.reserve(firsts.size() + 1);
  for (const int unit : firsts) layers.push_back(starts[static_cast<std::size_t>(unit)]);
  layers.push_back(static_cast<int>(facts.model->layers.size()));
  return layers;
}

}  // namespace ddl
