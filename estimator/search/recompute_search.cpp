#include "estimator/search/recompute_search.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>
#include <vector>

#include "estimator/layers/host_launches.hpp"
#include "estimator/layers/recomputed_layers.hpp"
#include "estimator/schedules/schedule.hpp"

namespace ddl {
namespace {

/// Blocks of a stage that take equally long to recompute and free equally much memory.
struct BlockKind {
  std::vector<LayerRange> blocks;
  double time = 0;   ///< time to recompute a block, for one micro-batch, in seconds
  double bytes = 0;  ///< memory that a recomputed block frees, with all micro-batches in flight
};

/// Numbers of recomputed blocks by kind.
struct Chosen {
  std::vector<int> counts;
  double time = 0, bytes = 0;
};

/// The blocks of a stage.
class StageBlocks {
 public:
  /// `bound`: whether freed memory is computed from the upper bound of a plan's memory.
  StageBlocks(const Estimator& estimator, const Plan& plan, int stage, bool bound) {
    const std::vector<int>& firsts = estimator.stages(plan);
    const int first = firsts[static_cast<std::size_t>(stage)], last = firsts[static_cast<std::size_t>(stage) + 1];
    const Model& model = *estimator.job().facts.model;
    const LayerKinds& kinds = estimator.tables().costs(plan).kinds();
    const int stages = plan.mesh[Axis::pipeline];
    const double in_flight = micro_batches_in_flight(plan.schedule, stage, stages, static_cast<double>(plan.micro_batches));
    Plan kept = plan;
    kept.recompute = Recompute::none;
    kept.recompute_blocks = 0;
    kept.recompute_segments.clear();
    const Bytes all = estimator.memories().kept_alike(kept, first, last);
    std::map<std::tuple<std::size_t, int, bool>, std::size_t> known;
    for (std::size_t run = 0; run + 1 < kinds.block_runs.size(); ++run) {
      const int start = kinds.block_runs[run], end = kinds.block_runs[run + 1];
      const LayerRange own{std::max(first, start), std::min(last, end)};
      if (own.first >= own.last || model.layers[static_cast<std::size_t>(start)].block < 0) continue;
      const bool is_whole = own.first == start && own.last == end;
      const auto [kind, is_new] =
          known.try_emplace({kinds.block_run_class[run], own.last - own.first, is_whole}, kinds_.size());
      if (is_new) {
        Plan again = kept;
        again.recompute = Recompute::full;
        again.recompute_segments = {{0, false}, {start, true}, {end, false}};
        if (start == 0) again.recompute_segments = {{end, false}};
        const Bytes freed = (all - estimator.memories().kept_alike(again, first, last)) * in_flight;
        kinds_.push_back({{}, time_of(estimator, again, own), (freed + (bound ? most_unusable(freed) : Bytes{})).value()});
      }
      kinds_[kind->second].blocks.push_back(own);
    }
    std::stable_sort(kinds_.begin(), kinds_.end(),
                     [](const BlockKind& a, const BlockKind& b) { return a.time * b.bytes < b.time * a.bytes; });
    std::erase_if(kinds_, [](const BlockKind& kind) { return kind.bytes <= 0; });
  }

  [[nodiscard]] const std::vector<BlockKind>& kinds() const { return kinds_; }
  [[nodiscard]] double most_freed() const {
    return std::accumulate(kinds_.begin(), kinds_.end(), 0.0, [](double sum, const BlockKind& kind) {
      return sum + kind.bytes * static_cast<double>(kind.blocks.size());
    });
  }

  /// Returns the least time in which fractions of blocks free this memory.
  [[nodiscard]] double least_time(double bytes) const {
    double time = 0;
    for (const BlockKind& kind : kinds_) {
      if (bytes <= 0) break;
      const double part = std::min(static_cast<double>(kind.blocks.size()), bytes / kind.bytes);
      time += part * kind.time;
      bytes -= part * kind.bytes;
    }
    return time;
  }

  /// Returns the Pareto front of choices by increasing time: no other choice is faster and frees as much. The last one frees
  /// at least this memory, or is all blocks.
  [[nodiscard]] std::vector<Chosen> front(double bytes) const {
    if (bytes <= 0) return {{std::vector<int>(kinds_.size(), 0), 0, 0}};
    std::vector<std::vector<Label>> fronts{{Label{}}};
    for (const BlockKind& kind : kinds_) {
      std::vector<Label> next;
      const std::vector<Label>& before = fronts.back();
      for (std::size_t from = 0; from < before.size(); ++from) {
        for (int count = 0; count <= static_cast<int>(kind.blocks.size()); ++count) {
          const Label label{before[from].time + count * kind.time, before[from].bytes + count * kind.bytes, from, count};
          next.push_back(label);
          if (label.bytes >= bytes) break;
        }
      }
      fronts.push_back(front_of(std::move(next), bytes));
    }
    std::vector<Chosen> choices;
    for (std::size_t last = 0; last < fronts.back().size(); ++last) {
      const Label& own = fronts.back()[last];
      choices.push_back({std::vector<int>(kinds_.size(), 0), own.time, own.bytes});
      std::size_t at = last;
      for (std::size_t kind = kinds_.size(); kind-- > 0;) {
        const Label& label = fronts[kind + 1][at];
        choices.back().counts[kind] = label.count;
        at = label.before;
      }
    }
    return choices;
  }

 private:
  struct Label {
    double time = 0, bytes = 0;
    std::size_t before = 0;  ///< the label of the kinds before
    int count = 0;           ///< recomputed blocks of this kind
  };

  /// Returns the labels that no other label is better than, by increasing time. If there are very many, labels that free
  /// nearly equal memory are reduced to one; the gap of the choice includes the time that this may cost.
  static std::vector<Label> front_of(std::vector<Label> labels, double bytes) {
    constexpr double most_labels = 4096;
    std::stable_sort(labels.begin(), labels.end(), [](const Label& a, const Label& b) {
      return std::pair(a.time, -a.bytes) < std::pair(b.time, -b.bytes);
    });
    std::vector<Label> front;
    const double step = static_cast<double>(labels.size()) > most_labels ? bytes / most_labels : 0;
    for (const Label& label : labels) {
      const bool is_better =
          front.empty() || label.bytes > front.back().bytes + step || (label.bytes >= bytes && front.back().bytes < bytes);
      if (is_better) front.push_back(label);
      if (front.back().bytes >= bytes) break;
    }
    return front;
  }

  [[nodiscard]] static double time_of(const Estimator& estimator, const Plan& again, const LayerRange& block) {
    const LayerCosts costs =
        recomputed_costs(estimator.job(), estimator.tables().costs(again), again, block.first, block.last);
    return (costs[LayerTime::forward] + costs[LayerTime::exchange_forward] + costs[LayerTime::halo_forward] +
            costs.idle_forward(launch_overhead(estimator.job())))
        .value();
  }

  std::vector<BlockKind> kinds_;  ///< in order of increasing time per byte
};

/// Chooses recomputed blocks for all stages of a plan.
class RecomputeSearch {
 public:
  RecomputeSearch(const Estimator& estimator, const Plan& plan, Verdict allowed)
      : estimator_(estimator), allowed_(allowed), plan_(plan), stages_(plan.mesh[Axis::pipeline]) {
    plan_.recompute = Recompute::full;
    plan_.recompute_blocks = 0;
    plan_.recompute_segments.clear();
    for (int stage = 0; stage < stages_; ++stage) {
      blocks_.emplace_back(estimator, plan_, stage, allowed == Verdict::fits);
      chosen_.push_back(blocks_.back().front(0).back());
    }
  }

  /// Frees memory until each stage fits. Returns whether they do.
  bool run() {
    bounds_.assign(blocks_.size(), 0);
    for (int stage = 0; stage < stages_; ++stage) {
      const double excess = excess_of(stage);
      if (excess <= 0) continue;
      // Every choice of blocks must free at least the memory that is missing without recomputation.
      bounds_[static_cast<std::size_t>(stage)] = blocks_[static_cast<std::size_t>(stage)].least_time(excess);
      if (!free_memory(stage, excess)) return false;
      try_faster(stage, excess);
    }
    return true;
  }

  [[nodiscard]] Plan plan() const {
    std::vector<std::pair<int, bool>> blocks;  // the first layer of each block, and whether it is recomputed
    for (std::size_t stage = 0; stage < blocks_.size(); ++stage) {
      const std::vector<BlockKind>& kinds = blocks_[stage].kinds();
      std::vector<std::pair<int, bool>> own;
      for (std::size_t kind = 0; kind < kinds.size(); ++kind) {
        // The first blocks are recomputed last, when the activations of the other blocks are no longer in memory.
        for (std::size_t i = 0; i < kinds[kind].blocks.size(); ++i)
          own.emplace_back(kinds[kind].blocks[i].first, i < static_cast<std::size_t>(chosen_[stage].counts[kind]));
      }
      blocks.insert(blocks.end(), own.begin(), own.end());
    }
    std::sort(blocks.begin(), blocks.end());
    Plan plan = plan_;
    for (const auto& [first, again] : blocks) plan.recompute_segments.push_back({first, again});
    if (!plan.recompute_segments.empty()) plan.recompute_segments.front().first = 0;
    join_recompute_segments(plan);
    return plan;
  }

  [[nodiscard]] Seconds gap() const {
    double longest = 0, sum = 0;
    for (std::size_t stage = 0; stage < blocks_.size(); ++stage) {
      const double more = std::max(0.0, chosen_[stage].time - bounds_[stage]);
      longest = std::max(longest, more);
      sum += more;
    }
    return Seconds(longest * static_cast<double>(plan_.micro_batches) + (sum - longest));
  }

 private:
  /// Frees this memory, and then the memory that is still missing. Returns whether the stage fits.
  bool free_memory(int stage, double excess) {
    constexpr int most_rounds = 64;
    const StageBlocks& blocks = blocks_[static_cast<std::size_t>(stage)];
    Chosen& chosen = chosen_[static_cast<std::size_t>(stage)];
    double lacks = 0;
    for (int round = 0; excess > 0; ++round) {
      if (round == most_rounds || lacks >= blocks.most_freed()) return false;
      lacks = std::max(lacks + excess, std::nextafter(chosen.bytes, std::numeric_limits<double>::infinity()));
      chosen = blocks.front(lacks).back();
      excess = excess_of(stage);
    }
    return true;
  }

  /// The freed memory of blocks does not add up exactly. So this function tries faster choices that free nearly the missing
  /// memory.
  void try_faster(int stage, double excess) {
    constexpr double least_share = 0.8;
    constexpr std::size_t most_tried = 48;
    Chosen& chosen = chosen_[static_cast<std::size_t>(stage)];
    const Chosen fitting = chosen;
    std::vector<Chosen> faster = blocks_[static_cast<std::size_t>(stage)].front(fitting.bytes);
    std::erase_if(faster,
                  [&](const Chosen& each) { return each.time >= fitting.time || each.bytes < excess * least_share; });
    const std::size_t step = (faster.size() + most_tried - 1) / most_tried;
    for (std::size_t i = 0; i < faster.size(); i += step) {
      chosen = faster[i];
      if (excess_of(stage) <= 0) return;
    }
    chosen = fitting;
  }

  /// Returns the memory that a stage needs beyond that of the device.
  [[nodiscard]] double excess_of(int stage) const {
    const Plan plan = this->plan();
    const MemoryBreakdown memory = estimator_.memories().memory(plan, estimator_.stages(plan), stage);
    const Bytes available = estimator_.job().machine.device.memory;
    return ((allowed_ == Verdict::fits ? memory.upper_bound() : memory.total()) - available).value();
  }

  const Estimator& estimator_;
  Verdict allowed_;
  Plan plan_;
  int stages_;
  std::vector<StageBlocks> blocks_;
  std::vector<Chosen> chosen_;
  std::vector<double> bounds_;  ///< for each stage, a lower bound of the time of its recomputed blocks
};

bool has_blocks(const Model& model) {
  return std::any_of(model.layers.begin(), model.layers.end(), [](const Layer& layer) { return layer.block >= 0; });
}

}  // namespace

std::optional<RecomputedPlan> least_recomputation(const Estimator& estimator, const Plan& plan, Verdict allowed) {
  const bool is_around = order_of(plan.schedule).course == Course::around;
  if (!is_around || plan.virtual_stages > 1 || plan.offload_activations || estimator.job().assumptions.memory_reuse)
    return std::nullopt;
  RecomputeSearch search(estimator, plan, allowed);
  if (!search.run()) return std::nullopt;
  return RecomputedPlan{search.plan(), search.gap()};
}

std::optional<RecomputedPlan> best_recomputation(const Estimator& estimator, const SearchOptions& options, const Plan& alike,
                                                 Verdict allowed) {
  std::optional<RecomputedPlan> best;
  Seconds least{};
  for (int zero = alike.zero_stage; zero >= 0; --zero) {
    if (options.chosen[PlanChoice::zero] && zero != alike.zero_stage) continue;
    Plan plan = alike;
    plan.zero_stage = zero;
    if (zero == 0) plan.shard_group = plan.secondary_shards = 0;
    if (zero < 3) plan.reshard = true, plan.secondary_shards = 0;
    if (!estimator.limits(plan).empty()) continue;
    std::optional<RecomputedPlan> found = least_recomputation(estimator, plan, allowed);
    if (!found || found->plan.recompute_segments.empty() || !estimator.limits(found->plan).empty()) continue;
    const Seconds time = estimator.step_time(found->plan);
    if (best && time >= least) continue;
    least = time;
    best = std::move(found);
  }
  return best;
}

bool may_choose_recomputed_blocks(const SearchOptions& options, const Job& job) {
  for (const PlanChoice choice : {PlanChoice::recompute, PlanChoice::recompute_blocks, PlanChoice::recompute_modules}) {
    if (options.chosen[choice]) return false;
  }
  const std::optional<std::vector<int>>& admitted = options.admitted[static_cast<std::size_t>(PlanChoice::recompute_blocks)];
  if (admitted && std::all_of(admitted->begin(), admitted->end(), [](int blocks) { return blocks == 0; })) return false;
  return !job.assumptions.memory_reuse && has_blocks(*job.facts.model);
}

}  // namespace ddl
