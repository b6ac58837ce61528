#include "estimator/layers/recomputed_layers.hpp"

#include <algorithm>
#include <limits>

#include "estimator/schedules/schedule.hpp"

namespace ddl {

namespace {

/// Returns the first `count` blocks of layers [first, last), as ranges of layers.
std::vector<LayerRange> first_blocks(const Model& model, const LayerKinds& kinds, std::int64_t count, int first, int last) {
  std::vector<LayerRange> blocks;
  const std::vector<int>& starts = kinds.block_runs;
  auto run = static_cast<std::size_t>(std::upper_bound(starts.begin(), starts.end(), first) - starts.begin()) - 1;
  for (; count > 0 && starts[run] < last; ++run) {
    const int begin = std::max(first, starts[run]), end = std::min(last, starts[run + 1]);
    if (model.layers[static_cast<std::size_t>(begin)].block < 0) continue;
    if (!blocks.empty() && blocks.back().last == begin) {
      blocks.back().last = end;
    } else {
      blocks.push_back({begin, end});
    }
    --count;
  }
  return blocks;
}

/// Returns the blocks of layers [first, last) in recomputed segments of a plan, as ranges of layers. A block is recomputed
/// if its first layer of the stage is in such a segment.
std::vector<LayerRange> blocks_in_segments(const Model& model, const LayerKinds& kinds, const Plan& plan, int first,
                                           int last) {
  std::vector<LayerRange> blocks;
  const std::vector<int>& starts = kinds.block_runs;
  auto run = static_cast<std::size_t>(std::upper_bound(starts.begin(), starts.end(), first) - starts.begin()) - 1;
  for (; run + 1 < starts.size() && starts[run] < last; ++run) {
    const int begin = std::max(first, starts[run]), end = std::min(last, starts[run + 1]);
    if (model.layers[static_cast<std::size_t>(begin)].block < 0 || !recomputes_from(plan, begin)) continue;
    if (!blocks.empty() && blocks.back().last == begin) {
      blocks.back().last = end;
    } else {
      blocks.push_back({begin, end});
    }
  }
  return blocks;
}

/// Adds the costs of the layers of whole or cut blocks, except the layers at their ends that are not recomputed
/// (ModelFacts::spared).
void add_unspared(const ModelFacts& facts, const LayerCostTable& costs, const LayerRange& blocks, LayerCosts& again) {
  struct Alike {
    LayerRange layers{};
    double count = 0;
  };
  const LayerKinds& kinds = costs.kinds();
  const std::vector<int>& starts = kinds.block_runs;
  std::vector<Alike> classes(kinds.block_run_class.size());
  auto run = static_cast<std::size_t>(std::upper_bound(starts.begin(), starts.end(), blocks.first) - starts.begin()) - 1;
  for (; starts[run] < blocks.last; ++run) {
    LayerRange own{std::max(blocks.first, starts[run]), std::min(blocks.last, starts[run + 1])};
    const bool is_whole = own.first == starts[run] && own.last == starts[run + 1];
    while (own.last > own.first && facts.spared[static_cast<std::size_t>(own.last) - 1]) --own.last;
    if (own.last == own.first) continue;
    Alike& alike = classes[kinds.block_run_class[run]];
    const bool is_first = alike.count == 0;
    if (is_whole && (is_first || own.last - own.first == alike.layers.last - alike.layers.first)) {
      if (is_first) alike.layers = own;
      ++alike.count;
    } else {
      again.add(costs.between(own.first, own.last), 1.0);
    }
  }
  for (const Alike& alike : classes) {
    if (alike.count > 0) again.add(costs.between(alike.layers.first, alike.layers.last), alike.count);
  }
}

}  // namespace

std::int64_t most_recomputed_blocks(const Plan& plan) {
  if (plan.recompute_blocks == 0) return std::numeric_limits<std::int64_t>::max();
  const ScheduleOrder& order = order_of(plan.schedule);
  const int chunks = plan.virtual_stages * (order.course == Course::there_and_back ? order.chunks : 1);
  return std::int64_t{plan.recompute_blocks} * chunks;
}

std::int64_t blocks_of(const Model& model, const LayerKinds& kinds, int first, int last) {
  std::int64_t blocks = 0;
  const std::vector<int>& starts = kinds.block_runs;
  auto run = std::upper_bound(starts.begin(), starts.end(), first) - 1;
  for (; *run < last; ++run) {
    if (model.layers[static_cast<std::size_t>(std::max(first, *run))].block >= 0) ++blocks;
  }
  return blocks;
}

std::vector<LayerRange> recomputed_blocks(const Model& model, const LayerKinds& kinds, const Plan& plan, int first,
                                          int last) {
  std::vector<LayerRange> again;
  if (plan.recompute != Recompute::full) return again;
  if (!plan.recompute_segments.empty()) return blocks_in_segments(model, kinds, plan, first, last);
  if (plan.recompute_blocks > 0) return first_blocks(model, kinds, most_recomputed_blocks(plan), first, last);
  int begin = first;
  for (const LayerRange& outside : kinds.outside) {
    if (outside.last <= begin) continue;
    if (outside.first >= last) break;
    if (outside.first > begin) again.push_back({begin, outside.first});
    begin = outside.last;
  }
  if (begin < last) again.push_back({begin, last});
  return again;
}

LayerCosts recomputed_costs(const Job& job, const LayerCostTable& costs, const Plan& plan, int first, int last) {
  LayerCosts again;
  for (const LayerRange& range : recomputed_blocks(*job.facts.model, costs.kinds(), plan, first, last)) {
    if (job.assumptions.recompute_stops_early) {
      add_unspared(job.facts, costs, range, again);
    } else {
      again.add(costs.between(range.first, range.last), 1.0);
    }
  }
  return again;
}

double recomputed_share(const Job& job, const LayerKinds& kinds, const Plan& plan, const std::vector<int>& firsts) {
  const ModelFacts& facts = job.facts;
  const auto macs = [&](const LayerRange& range, bool leaves_out) {
    double sum = 0;
    for (int i = range.first; i < range.last; ++i) {
      if (leaves_out && facts.spared[static_cast<std::size_t>(i)]) continue;
      const Layer& layer = facts.model->layers[static_cast<std::size_t>(i)];
      sum += layer.operation->unmasked_macs(layer.input_shapes, layer.output_shape);
    }
    return sum;
  };
  Plan all = plan;
  all.recompute_blocks = 0;
  all.recompute_segments.clear();
  double again = 0, of_blocks = 0;
  for (std::size_t stage = 0; stage + 1 < firsts.size(); ++stage) {
    for (const LayerRange& range : recomputed_blocks(*facts.model, kinds, plan, firsts[stage], firsts[stage + 1]))
      again += macs(range, job.assumptions.recompute_stops_early);
    for (const LayerRange& range : recomputed_blocks(*facts.model, kinds, all, firsts[stage], firsts[stage + 1]))
      of_blocks += macs(range, false);
  }
  return of_blocks > 0 ? again / of_blocks : 0.0;
}

std::vector<bool> runs_again(const Plan& plan, const ModelFacts& facts, const Assumptions& assumptions,
                             const LayerKinds& kinds, const std::vector<int>& firsts) {
  std::vector<bool> again(facts.model->layers.size());
  for (std::size_t layer = 0; layer < again.size() && plan.recompute == Recompute::selective; ++layer)
    again[layer] = is_selected(facts, assumptions, plan, static_cast<int>(layer));
  for (std::size_t stage = 0; stage + 1 < firsts.size(); ++stage) {
    for (const LayerRange& range : recomputed_blocks(*facts.model, kinds, plan, firsts[stage], firsts[stage + 1])) {
      for (auto layer = static_cast<std::size_t>(range.first); layer < static_cast<std::size_t>(range.last); ++layer)
        again[layer] = !assumptions.recompute_stops_early || !facts.spared[layer];
    }
  }
  return again;
}

}  // namespace ddl
