#include "estimator/search/zero_search.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "core/find.hpp"
#include "estimator/schedules/schedule.hpp"

namespace ddl {
namespace {

constexpr int all_zero_stages = 4;

/// Layers of a pipeline stage that are sharded alike: blocks of one kind, or layers outside blocks.
struct ShardedKind {
  int stage = 0;                                ///< stage of the pipeline
  std::vector<LayerRange> units;                ///< in the order of the layers
  double parameters = 0;                        ///< parameters of a unit
  std::array<double, all_zero_stages> bytes{};  ///< by ZeRO stage: memory of a unit in addition to that with the last one
  std::array<int, all_zero_stages> counts{};    ///< by ZeRO stage: number of units
  std::array<double, all_zero_stages> times{};  ///< by ZeRO stage: seconds of a unit in addition to those with the last one
};

/// Chooses ZeRO stages.
class ZeroSearch {
 public:
  /// `zero_stages`: those that units may have, in increasing order.
  ZeroSearch(const Estimator& estimator, const Plan& plan, const std::vector<int>& zero_stages, Verdict allowed)
      : estimator_(estimator),
        plan_(with_zero_stage(plan, zero_stages.back())),
        zero_stages_(zero_stages),
        allowed_(allowed) {
    Seconds least(std::numeric_limits<double>::infinity());
    for (const int zero : zero_stages_) {
      times_[index(zero)] = estimator.step_time(with_zero_stage(plan, zero)).value();
      least = min(least, Seconds(times_[index(zero)]));
    }
    for (const int zero : zero_stages_) times_[index(zero)] -= least.value();
    for (int stage = 0; stage < plan.mesh[Axis::pipeline]; ++stage) find_kinds(stage);
  }

  /// Returns the fastest plan that fits; nothing if none does.
  [[nodiscard]] std::optional<Plan> run() {
    constexpr std::size_t most_kinds = 96;
    if (kinds_.size() > most_kinds) return std::nullopt;
    for (int stage = 0; stage < plan_.mesh[Axis::pipeline]; ++stage) {
      if (!fill(stage)) return std::nullopt;
    }
    improve();
    return plan();
  }

 private:
  using Counts = std::array<int, all_zero_stages>;
  static std::size_t index(int zero) { return static_cast<std::size_t>(zero); }

  void find_kinds(int stage) {
    const std::vector<int>& firsts = estimator_.stages(plan_);
    const int first = firsts[index(stage)], last = firsts[index(stage) + 1];
    const LayerCostTable& costs = estimator_.tables().costs(plan_);
    const LayerKinds& kinds = costs.kinds();
    const Model& model = *estimator_.job().facts.model;
    std::map<std::tuple<std::size_t, int, bool>, std::size_t> known;
    for (std::size_t run = 0; run + 1 < kinds.block_runs.size(); ++run) {
      const int start = kinds.block_runs[run], end = kinds.block_runs[run + 1];
      const LayerRange own{std::max(first, start), std::min(last, end)};
      if (own.first >= own.last) continue;
      if (model.layers[index(start)].block < 0) {
        add_layers({estimator_.job(), plan_, costs, first, last, stage}, own);
        continue;
      }
      const double parameters = costs.between(own.first, own.last)[LayerCount::parameters];
      const bool is_whole = own.first == start && own.last == end;
      const auto [kind, is_new] =
          known.try_emplace({kinds.block_run_class[run], own.last - own.first, is_whole}, kinds_.size());
      if (is_new) kinds_.push_back({stage, {}, parameters, {}, {}, {}});
      kinds_[kind->second].units.push_back(own);
    }
    for (ShardedKind& kind : kinds_) {
      if (kind.stage == stage) kind.counts[index(zero_stages_.back())] = static_cast<int>(kind.units.size());
    }
  }

  /// Returns the parameters of a layer on a rank, or those of which its stage has a copy.
  [[nodiscard]] static double parameters_of(const StageOf& stage, int layer) {
    double parameters = stage.costs.at(layer)[LayerCount::parameters];
    for (const TiedLayer& tied : stage.job.facts.tied) {
      if (tied.reader == layer && is_copied(tied, stage.first, stage.last))
        parameters += stage.costs.at(tied.owner)[LayerCount::parameters];
    }
    return parameters;
  }

  /// Adds layers outside blocks. In a model without blocks, each layer with parameters begins a unit.
  void add_layers(const StageOf& stage, const LayerRange& layers) {
    const Model& model = *estimator_.job().facts.model;
    const bool has_blocks =
        std::any_of(model.layers.begin(), model.layers.end(), [](const Layer& layer) { return layer.block >= 0; });
    for (int first = layers.first; first < layers.last;) {
      double parameters = 0;
      int next = first;
      for (; next < layers.last; ++next) {
        const double own = parameters_of(stage, next);
        if (!has_blocks && own > 0 && parameters > 0) break;
        parameters += own;
      }
      if (parameters > 0) kinds_.push_back({stage.stage, {{first, next}}, parameters, {}, {}, {}});
      first = next;
    }
  }

  /// Returns the plan with the chosen ZeRO stages: units of a kind with higher stages come first.
  [[nodiscard]] Plan plan() const {
    std::vector<ZeroSegment> segments;
    for (const ShardedKind& kind : kinds_) {
      std::size_t unit = 0;
      for (int zero = all_zero_stages - 1; zero >= 0; --zero) {
        for (int i = 0; i < kind.counts[index(zero)]; ++i) segments.push_back({kind.units[unit++].first, zero});
      }
    }
    std::sort(segments.begin(), segments.end());
    Plan plan = plan_;
    if (!segments.empty()) segments.front().first = 0;
    plan.zero_segments = std::move(segments);
    join_zero_segments(plan);
    return plan;
  }

  /// Returns the memory that a stage of a plan leaves, in bytes.
  [[nodiscard]] double room_of(const Plan& plan, int stage) const {
    const MemoryBreakdown memory = estimator_.memories().memory(plan, estimator_.stages(plan), stage);
    const Bytes needed = allowed_ == Verdict::fits ? memory.upper_bound() : memory.total();
    return (estimator_.job().machine.device.memory - needed).value();
  }

  /// A choice of ZeRO stages of the kinds up to one.
  struct Label {
    double time = 0, bytes = 0;
    std::size_t before = 0;  ///< the label of the kinds before
    Counts counts{};
  };

  /// Returns the ways in which units of a kind have one or two ZeRO stages.
  [[nodiscard]] std::vector<Label> labels_of(const ShardedKind& kind) const {
    const int count = static_cast<int>(kind.units.size());
    std::vector<Label> labels;
    for (const int low : zero_stages_) {
      for (const int high : zero_stages_) {
        if (high < low) continue;
        for (int many = high == low ? count : 1; many <= (high == low ? count : count - 1); ++many) {
          Label label;
          label.counts[index(high)] += many;
          label.counts[index(low)] += count - many;
          for (const int zero : zero_stages_) {
            label.time += label.counts[index(zero)] * kind.times[index(zero)];
            label.bytes += label.counts[index(zero)] * kind.bytes[index(zero)];
          }
          labels.push_back(label);
        }
      }
    }
    return labels;
  }

  /// Returns the labels than which no other label is better, by increasing time. At most a few hundred are kept. Memory does
  /// not quite add up, so labels that need a little more than the room are kept, too.
  static std::vector<Label> front_of(std::vector<Label> labels, double room) {
    constexpr double most_labels = 512, tolerance = 0.25;
    std::stable_sort(labels.begin(), labels.end(),
                     [](const Label& a, const Label& b) { return std::pair(a.time, a.bytes) < std::pair(b.time, b.bytes); });
    const auto [least, most] =
        std::minmax_element(labels.begin(), labels.end(), [](const Label& a, const Label& b) { return a.bytes < b.bytes; });
    const double span = most->bytes - least->bytes, limit = std::max(room, least->bytes) + span * tolerance;
    const double step = static_cast<double>(labels.size()) > most_labels ? span / most_labels : 0;
    std::vector<Label> front;
    for (const Label& label : labels) {
      if (label.bytes <= limit && (front.empty() || label.bytes < front.back().bytes - step)) front.push_back(label);
    }
    return front;
  }

  /// Chooses the ZeRO stages of a pipeline stage. Returns whether it fits.
  bool fill(int stage) {
    std::vector<ShardedKind*> kinds;
    for (ShardedKind& kind : kinds_) {
      if (kind.stage == stage) kinds.push_back(&kind);
    }
    const double room = room_of(plan(), stage);
    const Seconds base = estimator_.step_time(plan());
    double all = 0;
    for (const ShardedKind* kind : kinds) all += kind->parameters * static_cast<double>(kind->units.size());
    for (ShardedKind* kind : kinds) {
      const Counts before = kind->counts;
      for (const int zero : zero_stages_) {
        kind->counts = {};
        kind->counts[index(zero)] = static_cast<int>(kind->units.size());
        const Plan changed = plan();
        const auto units = static_cast<double>(kind->units.size());
        kind->bytes[index(zero)] = (room - room_of(changed, stage)) / units;
        // Exchanges that are hidden take no time. Of choices that take equally long, one with less to exchange is better.
        constexpr double of_hidden = 1e-3;
        kind->times[index(zero)] = (estimator_.step_time(changed) - base).value() / units +
                                   of_hidden * times_[index(zero)] * kind->parameters / all;
      }
      kind->counts = before;
    }
    std::vector<std::vector<Label>> fronts{{Label{}}};
    for (const ShardedKind* kind : kinds) {
      std::vector<Label> next;
      const std::vector<Label> own = labels_of(*kind);
      for (std::size_t from = 0; from < fronts.back().size(); ++from) {
        for (const Label& label : own) {
          next.push_back(label);
          next.back().time += fronts.back()[from].time;
          next.back().bytes += fronts.back()[from].bytes;
          next.back().before = from;
        }
      }
      fronts.push_back(front_of(std::move(next), room));
    }
    const auto take = [&](std::size_t label) {
      for (std::size_t kind = kinds.size(); kind-- > 0;) {
        kinds[kind]->counts = fronts[kind + 1][label].counts;
        label = fronts[kind + 1][label].before;
      }
    };
    // Memory does not quite add up: the fastest choice that the estimator admits.
    constexpr std::size_t most_tried = 64;
    const std::size_t step = (fronts.back().size() + most_tried - 1) / most_tried;
    for (std::size_t label = 0; label < fronts.back().size(); label += step) {
      take(label);
      if (room_of(plan(), stage) >= 0) return true;
    }
    return false;
  }

  /// Changes the ZeRO stage of single units as long as the step becomes shorter.
  void improve() {
    constexpr int most_tried = 400;
    Seconds least = estimator_.step_time(plan());
    int tried = 0;
    for (bool is_better = true; is_better && tried < most_tried;) {
      is_better = false;
      for (ShardedKind& kind : kinds_) {
        for (const int from : zero_stages_) {
          for (const int to : zero_stages_) {
            if (from == to || kind.counts[index(from)] == 0 || tried++ >= most_tried) continue;
            --kind.counts[index(from)];
            ++kind.counts[index(to)];
            const Plan changed = plan();
            const Seconds time = estimator_.step_time(changed);
            if (time < least && room_of(changed, kind.stage) >= 0) {
              least = time;
              is_better = true;
              continue;
            }
            ++kind.counts[index(from)];
            --kind.counts[index(to)];
          }
        }
      }
    }
  }

  const Estimator& estimator_;
  Plan plan_;
  std::vector<int> zero_stages_;
  Verdict allowed_;
  std::array<double, all_zero_stages>
      times_{};  ///< by ZeRO stage: step in addition to that with the fastest one, in seconds
  std::vector<ShardedKind> kinds_;
};

}  // namespace

std::optional<Plan> best_sharding(const Estimator& estimator, const SearchOptions& options, const Plan& alike,
                                  Verdict allowed) {
  if (options.chosen[PlanChoice::zero] || alike.mesh.replicas() <= 1) return std::nullopt;
  const std::optional<std::vector<int>>& admitted = options.admitted[static_cast<std::size_t>(PlanChoice::zero)];
  std::vector<int> zero_stages;
  for (int zero = 0; zero < all_zero_stages; ++zero) {
    if (admitted && !contains(*admitted, zero)) continue;
    if (estimator.limits(with_zero_stage(alike, zero)).empty()) zero_stages.push_back(zero);
  }
  if (zero_stages.size() < 2) return std::nullopt;
  Plan mixed = with_zero_stage(alike, zero_stages.front());
  const auto count = static_cast<int>(estimator.job().facts.model->layers.size());
  mixed.zero_segments = {{count - 1, zero_stages.back()}};
  if (!estimator.limits(mixed).empty()) return std::nullopt;
  std::optional<Plan> found = ZeroSearch(estimator, alike, zero_stages, allowed).run();
  if (!found || found->zero_segments.empty() || !estimator.limits(*found).empty()) return std::nullopt;
  return found;
}

}  // namespace ddl
