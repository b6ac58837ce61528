#include "estimator/layers/layer_runs.hpp"

namespace ddl {
namespace {

/// The search tries no longer periods, and no more candidates for the start of a period.
constexpr int longest_period = 512;
constexpr int most_tried = 8;

}  // namespace

LayerRuns::LayerRuns(const std::vector<int>& kinds) {
  const auto count = static_cast<int>(kinds.size());
  const auto kind = [&kinds](int layer) { return kinds[static_cast<std::size_t>(layer)]; };
  // For each layer, the next layer of the same kind, or the layer count if there is none.
  std::vector<int> next(kinds.size(), count), last_of;
  for (int i = count - 1; i >= 0; --i) {
    const auto own = static_cast<std::size_t>(kind(i));
    if (own >= last_of.size()) last_of.resize(own + 1, count);
    next[static_cast<std::size_t>(i)] = last_of[own];
    last_of[own] = i;
  }
  const auto add = [&](int first, int period, int repeats) {
    // Consecutive layers without repetition form one run.
    if (repeats == 1 && !runs_.empty() && runs_.back().repeats == 1) {
      runs_.back().period += period;
    } else {
      runs_.push_back({first, period, repeats, 0});
    }
  };
  for (int i = 0; i < count;) {
    int period = 1, repeats = 1, tried = 0;
    for (int again = next[static_cast<std::size_t>(i)]; again < count && again - i <= longest_period && tried < most_tried;
         again = next[static_cast<std::size_t>(again)], ++tried) {
      const int length = again - i;
      int equal = 0;
      while (again + equal < count && kind(i + equal) == kind(again + equal)) ++equal;
      const int times = 1 + equal / length;
      if (times > 1 && times * length > period * repeats) {
        period = length;
        repeats = times;
      }
      if (repeats > most_tried) break;
    }
    if (repeats == 1) period = 1;
    add(i, period, repeats);
    i += period * repeats;
  }
  for (std::size_t run = 0; run < runs_.size(); ++run) {
    Run& own = runs_[run];
    own.inner = inner_count_;
    inner_count_ += static_cast<std::size_t>(own.period);
    run_of_.insert(run_of_.end(), static_cast<std::size_t>(own.period) * static_cast<std::size_t>(own.repeats), run);
  }
}

LayerRuns::Place LayerRuns::place(int layer) const {
  const auto index = static_cast<std::size_t>(layer);
  if (index >= run_of_.size()) return {runs_.size(), 0, 0};
  const std::size_t run = run_of_[index];
  const int within = layer - runs_[run].first;
  return {run, within / runs_[run].period, within % runs_[run].period};
}

}  // namespace ddl
