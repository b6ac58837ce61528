#include "estimator/search.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <map>
#include <string_view>
#include <tuple>

#include "estimator/strategies/spatial.hpp"

namespace ddl {
namespace {

constexpr std::array<std::string_view, 3> objective_names{"time", "cost", "memory"};

std::vector<std::int64_t> divisors(std::int64_t number) {
  std::vector<std::int64_t> low, high;
  for (std::int64_t d = 1; d * d <= number; ++d) {
    if (number % d != 0) continue;
    low.push_back(d);
    if (d != number / d) high.push_back(number / d);
  }
  low.insert(low.end(), high.rbegin(), high.rend());
  return low;
}

/// Tensor is filter and channel in alternation: dividing the same layers a second time by either is not a plan of its own.
bool is_meaningful(Family family) {
  const bool tensor = (family & family_bit(Axis::tensor)) != 0;
  return !tensor || (family & (family_bit(Axis::filter) | family_bit(Axis::channel))) == 0;
}

/// Every way of writing `devices` as a product of degrees, grouped by family.
class Degrees {
 public:
  Degrees(const SearchOptions& options, const ModelFacts& facts)
      : options_(options),
        spatial_rank_(facts.model->input.sequence ? 0 : facts.model->input.rank),
        square_(mirrors_alike(facts)) {
    Plan plan;
    plan.global_batch = options.global_batch;
    plan.precision = options.precision;
    plan.optimizer = options.optimizer;
    if (options.placement) plan.placement = *options.placement;
    divisors_ = divisors(options.devices);
    fill(plan, 0, options.devices);
  }
  [[nodiscard]] const std::map<Family, std::vector<Plan>>& by_family() const { return by_family_; }

 private:
  static constexpr std::size_t slots = 8;  // data, three extents, layer, filter, channel, tensor

  static int& slot_of(Plan& plan, std::size_t slot) {
    switch (slot) {
      case 0:
        return plan.spatial[0];
      case 1:
        return plan.spatial[1];
      case 2:
        return plan.spatial[2];
      case 3:
        return plan.layer;
      case 4:
        return plan.filter;
      case 5:
        return plan.channel;
      case 6:
        return plan.tensor;
      default:
        return plan.data;
    }
  }

  void fill(Plan plan, std::size_t slot, std::int64_t left) {
    if (slot + 1 == slots) {
      slot_of(plan, slot) = static_cast<int>(left);
      const Family family = family_of(plan);
      if (!is_meaningful(family)) return;
      if (!options_.families.empty() &&
          std::find(options_.families.begin(), options_.families.end(), family) == options_.families.end()) {
        return;
      }
      by_family_[family].push_back(plan);
      return;
    }
    // A model without extents is asked once, so that the family is rejected with that reason.
    const int extents = std::max(1, spatial_rank_);
    const bool unused = slot < 3 && static_cast<int>(slot) >= extents;
    for (const std::int64_t d : divisors_) {
      if (left % d != 0) continue;
      if (unused && d > 1) break;
      // Of a square sample, 2×4 tiles and 4×2 tiles are mirror images: the extents are cut in rising order.
      if (square_ && slot > 0 && slot < static_cast<std::size_t>(extents) && d < slot_of(plan, slot - 1)) continue;
      slot_of(plan, slot) = static_cast<int>(d);
      fill(plan, slot + 1, left / d);
    }
  }

  const SearchOptions& options_;
  int spatial_rank_;
  bool square_;
  std::vector<std::int64_t> divisors_;
  std::map<Family, std::vector<Plan>> by_family_;
};

/// Everything that is still open once the degrees are given, cheapest first.
struct Variants {
  std::vector<std::array<Axis, axis_count>> placements;
  std::vector<Schedule> schedules;
  std::vector<std::pair<Recompute, int>> savings;  ///< recomputation and ZeRO stage
};

class VariantSpace {
 public:
  VariantSpace(const SearchOptions& options, int devices_per_node)
      : options_(options), several_nodes_(options.devices > devices_per_node) {}

  [[nodiscard]] const std::vector<std::int64_t>& micro_batches(const Plan& plan) const {
    const std::int64_t replica = std::max<std::int64_t>(1, (plan.global_batch + plan.data - 1) / plan.data);
    std::vector<std::int64_t>& known = micro_batches_[replica];
    if (!known.empty()) return known;
    if (options_.micro_batches) {
      known = {*options_.micro_batches};
      return known;
    }
    // Micro-batches of all sizes that divide the replica's share, and of powers of two where few do.
    std::vector<std::int64_t> sizes = divisors(replica);
    for (std::int64_t size = 1; size < replica; size *= 2) sizes.push_back(size);
    for (const std::int64_t size : sizes) known.push_back((replica + size - 1) / size);
    std::sort(known.begin(), known.end());
    known.erase(std::unique(known.begin(), known.end()), known.end());
    return known;
  }

  [[nodiscard]] Variants of(const Plan& plan) const {
    Variants variants;
    variants.placements.push_back(plan.placement);
    if (!options_.placement && several_nodes_) {
      // One more for every axis that could be the one that lives inside the node.
      bool first = true;
      for (const Axis axis : plan.placement) {
        if (degree(plan, axis) == 1) continue;
        if (!first) {
          std::array<Axis, axis_count> placement = plan.placement;
          const auto at = std::find(placement.begin(), placement.end(), axis);
          std::rotate(placement.begin(), at, at + 1);
          variants.placements.push_back(placement);
        }
        first = false;
      }
    }
    variants.schedules = {options_.schedule.value_or(Schedule::one_forward_one_backward)};
    if (!options_.schedule && plan.layer > 1) variants.schedules.push_back(Schedule::gpipe);
    for (const Recompute recompute : {Recompute::none, Recompute::full}) {
      if (options_.recompute && recompute != *options_.recompute) continue;
      for (int stage = 0; stage <= (replicated(plan) ? 3 : 0); ++stage) {
        if (options_.zero_stage && replicated(plan) && stage != *options_.zero_stage) continue;
        variants.savings.emplace_back(recompute, stage);
      }
    }
    return variants;
  }

  /// How many there are, without making them.
  [[nodiscard]] std::int64_t count(const Plan& plan) const {
    const int axes = std::popcount(family_of(plan));
    const std::int64_t placements = options_.placement || !several_nodes_ ? 1 : std::max(1, axes);
    const std::int64_t schedules = !options_.schedule && plan.layer > 1 ? 2 : 1;
    const std::int64_t zero = replicated(plan) && !options_.zero_stage ? 4 : 1;
    const std::int64_t recompute = options_.recompute ? 1 : 2;
    return placements * schedules * zero * recompute * static_cast<std::int64_t>(micro_batches(plan).size());
  }

 private:
  [[nodiscard]] static bool replicated(const Plan& plan) { return plan.data * degree(plan, Axis::spatial) > 1; }
  const SearchOptions& options_;
  bool several_nodes_;
  mutable std::map<std::int64_t, std::vector<std::int64_t>> micro_batches_;
};

/// How far a rejected plan is from possible: fewer kinds of trouble first, memory the mildest of them.
std::tuple<int, double> miss(const Estimate& estimate) {
  double worst = 0;
  int kinds = 0;
  for (const Limit& limit : estimate.limits) {
    kinds += limit.kind == Limit::Kind::memory ? 1 : 10;
    worst = std::max(worst, limit.wanted / std::max(limit.available, 1e-9));
  }
  return {kinds, worst};
}

/// Plans of one family that no limit of their shape rules out, each with a bound, the most promising first.
struct Candidates {
  struct Candidate {
    double bound = 0;
    const Plan* plan = nullptr;
  };
  Family family = 0;
  std::vector<Candidate> plans;
  std::optional<Estimate> nearest;  ///< of those ruled out
};

/// Prices the variants of families and keeps the best of each.
class FamilySearch {
 public:
  FamilySearch(const Estimator& estimator, const SearchOptions& options, SearchResult& result)
      : estimator_(estimator),
        options_(options),
        result_(result),
        space_(options, estimator.job().machine.devices_per_node()) {}

  /// Rules out what can be ruled out without pricing.
  Candidates candidates(Family family, const std::vector<Plan>& degrees) {
    Candidates candidates;
    candidates.family = family;
    nearest_.reset();
    for (const Plan& plan : degrees) {
      const Limits limits = estimator_.limits(plan);
      if (!limits.empty()) {
        result_.considered += space_.count(plan);
        reject(plan, limits);
      } else {
        candidates.plans.push_back({lower_bound(plan).value(), &plan});
      }
    }
    candidates.nearest = nearest_;
    std::stable_sort(candidates.plans.begin(), candidates.plans.end(),
                     [](const auto& a, const auto& b) { return a.bound < b.bound; });
    return candidates;
  }

  void run(const Candidates& candidates) {
    best_.reset();
    nearest_ = candidates.nearest;
    bool outdone = false;
    for (const Candidates::Candidate& candidate : candidates.plans) {
      const std::int64_t count = space_.count(*candidate.plan);
      result_.considered += count;
      if (beaten(Seconds(candidate.bound), *candidate.plan)) {
        result_.pruned += count;
        outdone = true;
        continue;
      }
      // One plan that cannot fit says as much as all of them.
      const bool cannot_fit = estimator_.memory_lower_bound(*candidate.plan) > estimator_.job().machine.device.memory;
      if (cannot_fit && nearest_ && !options_.all) continue;
      try_variants(*candidate.plan);
    }
    if (!best_ && !outdone && nearest_ && nearest_->limits.begin()->kind == Limit::Kind::memory) {
      save_most(nearest_->plan);
      if (const Plan* plan = smallest(candidates.plans)) save_most(*plan);
    }
    if (best_) {
      result_.best.push_back(*best_);
      leaders_.push_back(best_->time.iteration().value());
      std::sort(leaders_.begin(), leaders_.end());
    } else if (outdone) {
      result_.behind.push_back(candidates.family);
    } else if (nearest_) {
      result_.rejected.push_back(*nearest_);
    }
  }

 private:
  /// Whether better plans are known: of this family, or as many of other families as anybody wants to see.
  [[nodiscard]] bool beaten(Seconds bound, const Plan& plan) const {
    if (options_.all) return false;
    if (options_.objective == Objective::memory) {
      return best_ && estimator_.memory_lower_bound(plan) >= best_->memory.total();
    }
    if (best_ && bound >= best_->time.iteration()) return true;
    const auto wanted = static_cast<std::size_t>(options_.top);
    return wanted > 0 && leaders_.size() >= wanted && bound.value() >= leaders_[wanted - 1];
  }

  /// Of the plan with whichever micro-batches suit it best.
  [[nodiscard]] Seconds lower_bound(Plan plan) const {
    Seconds least(std::numeric_limits<double>::max());
    for (const std::int64_t micro_batches : space_.micro_batches(plan)) {
      plan.micro_batches = micro_batches;
      least = min(least, estimator_.lower_bound(plan));
      if (plan.layer == 1) break;  // without a pipeline whole batches are the fastest
    }
    return least;
  }

  void reject(const Plan& plan, const Limits& limits) {
    Estimate estimate;
    estimate.plan = plan;
    estimate.limits = limits;
    note(estimate);
  }

  /// The plan that needs the least memory with everything saved; of very many a sample, evenly spread.
  [[nodiscard]] const Plan* smallest(const std::vector<Candidates::Candidate>& candidates) const {
    constexpr std::size_t tried = 500;
    const Plan* found = nullptr;
    Bytes least{};
    const std::size_t step = candidates.size() / tried + 1;
    for (std::size_t i = 0; i < candidates.size(); i += step) {
      Plan plan = *candidates[i].plan;
      plan.micro_batches = space_.micro_batches(plan).back();
      for (const auto& [recompute, zero_stage] : space_.of(plan).savings) {
        plan.recompute = std::max(plan.recompute, recompute);
        plan.zero_stage = std::max(plan.zero_stage, zero_stage);
      }
      const Bytes needed = estimator_.estimate(plan).memory.total();
      if (found == nullptr || needed < least) {
        found = candidates[i].plan;
        least = needed;
      }
    }
    return found;
  }

  /// How near a plan without enough memory comes at best: everything saved, micro-batches as small as they can be.
  void save_most(Plan plan) {
    plan.micro_batches = space_.micro_batches(plan).back();
    for (const auto& [recompute, zero_stage] : space_.of(plan).savings) {
      plan.recompute = recompute;
      plan.zero_stage = zero_stage;
      note(estimator_.estimate(plan));
    }
  }

  /// A needless saving is ranked among all plans, but stands for no family.
  void note(const Estimate& estimate, bool needless = false) {
    if (estimate.feasible()) {
      ++result_.feasible;
      if (options_.all) result_.ranked.push_back({estimate.plan, estimate.time.iteration(), estimate.memory.total()});
      if (!needless && (!best_ || better(estimate, *best_, options_.objective))) best_ = estimate;
    } else if (!nearest_ || miss(estimate) < miss(*nearest_)) {
      nearest_ = estimate;
    }
  }

  void try_variants(Plan plan) {
    const Variants variants = space_.of(plan);
    std::vector<std::int64_t> fitted;
    least_ = {};
    for (const std::int64_t micro_batches : space_.micro_batches(plan)) {
      plan.micro_batches = micro_batches;
      const auto per_placement = static_cast<std::int64_t>(variants.schedules.size() * variants.savings.size());
      // Where the ranks are changes nothing about their memory. Smaller micro-batches keep proportionally less; where even
      // that is too much, there is nothing to price.
      const bool hopeless = least_.samples > 0 && !options_.all &&
                            least_.parameters + least_.of_samples * (samples_per_micro_batch(plan) / least_.samples) >
                                estimator_.job().machine.device.memory;
      if (hopeless) continue;
      // Without a pipeline, cutting micro-batches that fit into several of their own only saves memory: the parts of a tile
      // and of a message take no less time than the whole.
      const bool needless =
          plan.layer == 1 && !options_.all && options_.objective != Objective::memory &&
          std::any_of(fitted.begin(), fitted.end(), [&](std::int64_t fewer) { return micro_batches % fewer == 0; });
      bool fits = false;
      for (const auto& placement : variants.placements) {
        plan.placement = placement;
        if (needless || beaten(estimator_.placed_lower_bound(plan), plan)) {
          result_.pruned += per_placement;
          continue;
        }
        fits = try_savings(plan, variants) || fits;
      }
      if (fits) fitted.push_back(micro_batches);
    }
  }

  /// The least memory that any saving reached with micro-batches of some size.
  struct Least {
    double samples = 0;
    Bytes parameters{}, of_samples{};
  };

  /// Whether the plan fits without saving anything.
  bool try_savings(Plan plan, const Variants& variants) {
    std::array<bool, 2> fits_whole{};  // by recomputation, whether whole weights and gradients fit
    std::array<bool, 4> fits_kept{};   // by ZeRO stage, without recomputation
    bool fits = false;
    for (const auto& saving : variants.savings) {
      const auto [recompute, zero_stage] = saving;
      const auto stage = static_cast<std::size_t>(zero_stage);
      const auto again = static_cast<std::size_t>(recompute);
      // Memory that is there is used: nothing is computed again, and no weights or gradients are sharded, where the plan
      // fits without. GPipe never needs less memory than 1F1B and takes as long.
      const bool needless = options_.objective != Objective::memory &&
                            ((recompute == Recompute::full && fits_kept[stage]) || (zero_stage >= 2 && fits_whole[again]));
      for (const Schedule schedule : variants.schedules) {
        const bool dominated = schedule == Schedule::gpipe && variants.schedules.size() > 1;
        if (!options_.all && (needless || dominated)) {
          ++result_.pruned;
          continue;
        }
        plan.recompute = recompute;
        plan.zero_stage = zero_stage;
        plan.schedule = schedule;
        const Estimate estimate = estimator_.estimate(plan);
        if (estimate.feasible()) {
          if (zero_stage <= 1) fits_whole[again] = true;
          // What a stage can do without recomputation, the stages above it can as well.
          if (recompute == Recompute::none) std::fill(fits_kept.begin() + zero_stage, fits_kept.end(), true);
          fits = fits || saving == variants.savings.front();
        }
        note(estimate, needless);
        const Bytes of_samples = estimate.memory.activations + estimate.memory.input;
        // Scratch memory of kernels may shrink more than what samples take.
        const Bytes parameters = estimate.memory.total() - of_samples - estimate.memory.kernel_workspace;
        if (least_.samples != samples_per_micro_batch(plan)) {
          least_ = {samples_per_micro_batch(plan), parameters, of_samples};
        } else {
          least_.parameters = min(least_.parameters, parameters);
          least_.of_samples = min(least_.of_samples, of_samples);
        }
      }
    }
    return fits;
  }

  const Estimator& estimator_;
  const SearchOptions& options_;
  SearchResult& result_;
  VariantSpace space_;
  std::optional<Estimate> best_, nearest_;
  Least least_;
  std::vector<double> leaders_;  ///< iteration times of the families found so far, shortest first
};

}  // namespace

std::string_view to_string(Objective objective) { return objective_names[static_cast<std::size_t>(objective)]; }
std::optional<Objective> parse_objective(std::string_view text) {
  const auto found = std::find(objective_names.begin(), objective_names.end(), text);
  if (found == objective_names.end()) return std::nullopt;
  return static_cast<Objective>(found - objective_names.begin());
}

namespace {

bool preferred(const RankedPlan& a, const RankedPlan& b, Objective objective) {
  const auto key = [&](const RankedPlan& e) {
    // All plans of one search use the same devices, so the cheapest is the fastest. Ties go to the plan with fewer choices
    // made.
    const auto choices = std::tuple(static_cast<int>(e.plan.recompute), e.plan.zero_stage, e.plan.micro_batches);
    if (objective == Objective::memory) return std::tuple(e.memory.value(), e.iteration.value(), choices, 0.0);
    return std::tuple(e.iteration.value(), 0.0, choices, e.memory.value());
  };
  return key(a) < key(b);
}

}  // namespace

bool better(const Estimate& a, const Estimate& b, Objective objective) {
  return preferred({a.plan, a.time.iteration(), a.memory.total()}, {b.plan, b.time.iteration(), b.memory.total()},
                   objective);
}

SearchResult search(const Estimator& estimator, const SearchOptions& options) {
  SearchResult result;
  const Degrees degrees(options, estimator.job().facts);
  FamilySearch families(estimator, options, result);
  std::vector<Candidates> candidates;
  for (const auto& [family, plans] : degrees.by_family()) candidates.push_back(families.candidates(family, plans));
  // Simple families first, which are few plans, and of those the promising ones: the others are measured against good plans.
  std::stable_sort(candidates.begin(), candidates.end(), [](const Candidates& a, const Candidates& b) {
    const auto first = [](const Candidates& c) {
      return std::pair(std::popcount(c.family), c.plans.empty() ? 0.0 : c.plans.front().bound);
    };
    return first(a) < first(b);
  });
  for (const Candidates& each : candidates) families.run(each);
  std::stable_sort(result.best.begin(), result.best.end(),
                   [&](const Estimate& a, const Estimate& b) { return better(a, b, options.objective); });
  std::stable_sort(result.ranked.begin(), result.ranked.end(),
                   [&](const RankedPlan& a, const RankedPlan& b) { return preferred(a, b, options.objective); });
  return result;
}

}  // namespace ddl
