#include "estimator/search/family_search.hpp"

#include <algorithm>
#include <limits>
#include <tuple>
#include <utility>

namespace ddl {

void FamilySearch::keep_first() {
  std::vector<Estimate>& kept = result_.first;
  std::vector<const Estimate*> order;
  for (const Estimate& each : kept) order.push_back(&each);
  std::sort(order.begin(), order.end(), [&](const Estimate* a, const Estimate* b) { return is_better(*a, *b); });
  const bool is_full = order.size() >= static_cast<std::size_t>(options_.top);
  if (is_full) order.resize(static_cast<std::size_t>(options_.top));
  std::vector<Estimate> first;
  first.reserve(order.size());
  for (const Estimate* each : order) first.push_back(*each);
  kept = std::move(first);
  if (!is_full || kept.empty()) return;
  last_kept_ = ranked(kept.back(), options_);
}

Plan FamilySearch::plan_of(const Mesh& mesh) const {
  Plan plan;
  plan.mesh = mesh;
  plan.global_batch = options_.global_batch;
  plan.precision = options_.precision;
  plan.optimizer = options_.optimizer;
  if (options_.placement) plan.placement = *options_.placement;
  return plan;
}

Candidates FamilySearch::candidates(Family family, const std::vector<Mesh>& degrees, std::int64_t all) {
  Candidates candidates;
  candidates.family = family;
  nearest_.reset();
  Plan plan = plan_of({});
  for (const Mesh& mesh : degrees) {
    // Of degrees with many divisors there are millions: whoever waits sees how far it is.
    constexpr std::int64_t often = 1024;
    if (options_.go_on && looked_at_++ % often == 0 && !options_.go_on(looked_at_, all)) {
      result_.stopped = true;
      break;
    }
    plan.mesh = mesh;
    const std::int64_t count = space_.count(plan);
    const Limits limits = estimator_.limits(plan);
    if (!limits.empty()) {
      result_.considered += count;
      reject(plan, limits);
      continue;
    }
    candidates.meshes.push_back({lower_bound(plan).value(), count, &mesh});
  }
  candidates.nearest = nearest_;
  std::stable_sort(candidates.meshes.begin(), candidates.meshes.end(), [&](const auto& a, const auto& b) {
    if (rounded(a.bound) != rounded(b.bound)) return a.bound < b.bound;
    return simplicity_of(plan_of(*a.mesh)) < simplicity_of(plan_of(*b.mesh));
  });
  return candidates;
}

bool FamilySearch::run(const Candidates& candidates, std::int64_t all) {
  const SearchResult before = counts();
  // Plans that fit come first, whatever they take. Where there is none, what is at risk is looked for.
  allowed_ = options_.all || options_.allow_risk ? Verdict::at_risk : Verdict::fits;
  try_all(candidates, all);
  const bool is_without = !best_ && !outdone_ && !result_.stopped;
  if (is_without && allowed_ == Verdict::fits) {
    allowed_ = Verdict::at_risk;
    if (has_risk_) {
      restore(before);
      try_all(candidates, all);
    }
  }
  if (!best_ && !outdone_ && !result_.stopped && nearest_ && nearest_->limits.begin()->kind == Limit::Kind::memory) {
    save_most(nearest_->plan);
    if (const std::optional<Plan> plan = smallest(candidates)) save_most(*plan);
  }
  if (best_) {
    result_.best.push_back(estimator_.estimate(best_->plan));
    leaders_.push_back(rank_of(*best_, options_.objective));
    std::sort(leaders_.begin(), leaders_.end());
  } else if (outdone_) {
    result_.behind.push_back(candidates.family);
  } else if (nearest_ && !result_.stopped) {
    result_.rejected.push_back(*nearest_);
  }
  return !result_.stopped;
}

bool FamilySearch::is_better(const Estimate& a, const Estimate& b) const {
  return preferred(ranked(a, options_), ranked(b, options_), options_.objective);
}

SearchResult FamilySearch::counts() const {
  SearchResult counts;
  counts.considered = result_.considered;
  counts.pruned = result_.pruned;
  counts.priced = result_.priced;
  counts.feasible = result_.feasible;
  return counts;
}

void FamilySearch::restore(const SearchResult& counts) {
  result_.considered = counts.considered;
  result_.pruned = counts.pruned;
  result_.priced = counts.priced;
  result_.feasible = counts.feasible;
}

void FamilySearch::try_all(const Candidates& candidates, std::int64_t all) {
  best_.reset();
  nearest_ = candidates.nearest;
  outdone_ = has_risk_ = false;
  Plan plan = plan_of({});
  for (const Candidates::Candidate& candidate : candidates.meshes) {
    if (options_.go_on && !options_.go_on(result_.considered, all)) {
      result_.stopped = true;
      break;
    }
    plan.mesh = *candidate.mesh;
    result_.considered += candidate.count;
    if (beaten(Seconds(candidate.bound), plan)) {
      result_.pruned += candidate.count;
      continue;
    }
    // One plan that cannot fit says as much as all of them.
    const bool cannot_fit = least_memory(plan) > estimator_.job().machine.device.memory;
    if (cannot_fit && nearest_ && !options_.all) continue;
    try_variants(plan);
  }
}

bool FamilySearch::has_rivals() const {
  return best_ || (options_.top > 0 && leaders_.size() >= static_cast<std::size_t>(options_.top));
}

bool FamilySearch::beaten(Seconds bound, const Plan& plan) {
  if (options_.all) return false;
  if (options_.objective == Objective::memory) {
    return best_ && rounded(least_memory(plan).value()) > best_rank_.first;
  }
  // A bound is a sum of parts in an order of its own.
  constexpr double rounding = 1 - 1e-11;
  const double time = rounded(bound.value() * rounding);
  const auto wanted = static_cast<std::size_t>(options_.top);
  const bool led = wanted > 0 && leaders_.size() >= wanted;
  // The plan may turn out to be as good as is allowed at the moment.
  const Verdict verdict = options_.allow_risk ? Verdict::fits : allowed_;
  const auto is_behind = [&](const Rank& known) {
    if (known.verdict != verdict) return known.verdict < verdict;
    return time > known.first || (time == known.first && Rank{verdict, time, 0.0, simplicity_of(plan)} >= known);
  };
  if (best_ && is_behind(best_rank_)) return true;
  if (!led) return false;
  // What ties with the last that is wanted may come before it.
  Rank last = leaders_[wanted - 1];
  last.first *= 1 + options_.tie;
  if (!is_behind(last)) return false;
  outdone_ = true;
  return true;
}

Bytes FamilySearch::least_memory(Plan plan) const {
  const PlanChoiceRow& row = row_of(PlanChoice::offload);
  row.set(plan, space_.values_of(row, plan).back());
  return estimator_.memory_lower_bound(plan);
}

const FamilySearch::BareBounds& FamilySearch::bare_bounds(Plan plan) {
  // What runs have taught makes kernels cheaper, and differs between families.
  const Family family = estimator_.job().coefficients.learned.empty() ? 0 : plan.mesh.family();
  BareBounds& known = bare_bounds_[{family, plan.mesh.batch_parts(), plan.mesh[Axis::pipeline]}];
  if (!known.empty()) return known;
  for (const std::int64_t micro_batches : space_.micro_batches(plan)) {
    plan.micro_batches = micro_batches;
    known.emplace_back(estimator_.bare_lower_bound(plan).value(), micro_batches);
    if (plan.mesh[Axis::pipeline] == 1) break;  // without a pipeline whole batches are the fastest
  }
  std::sort(known.begin(), known.end());
  return known;
}

Seconds FamilySearch::lower_bound(Plan plan) {
  Seconds least(std::numeric_limits<double>::max());
  for (const auto& [bare, micro_batches] : bare_bounds(plan)) {
    if (bare >= least.value()) break;
    plan.micro_batches = micro_batches;
    least = min(least, estimator_.lower_bound(plan));
  }
  return least;
}

void FamilySearch::reject(const Plan& plan, const Limits& limits) {
  if (nearest_ && miss(limits) >= miss(*nearest_)) return;
  Estimate estimate;
  estimate.plan = plan;
  estimate.limits = limits;
  note(estimate);
}

std::optional<Plan> FamilySearch::smallest(const Candidates& candidates) const {
  constexpr std::size_t tried = 500;
  std::optional<Plan> found;
  Bytes least{};
  const std::size_t step = candidates.meshes.size() / tried + 1;
  for (std::size_t i = 0; i < candidates.meshes.size(); i += step) {
    Plan plan = plan_of(*candidates.meshes[i].mesh);
    plan.micro_batches = space_.micro_batches(plan).back();
    for (const PlanChoiceRow& row : plan_choices()) {
      const std::vector<int> values = space_.values_of(row, plan);
      if (is_smaller_at_most(row.trade) && !values.empty()) row.set(plan, values.back());
    }
    const Bytes needed = estimator_.memory(plan).total();
    if (!found || needed < least) {
      found = plan_of(*candidates.meshes[i].mesh);
      least = needed;
    }
  }
  return found;
}

void FamilySearch::save_most(Plan plan) {
  plan.micro_batches = space_.micro_batches(plan).back();
  for (const LikeChoices& choices : space_.choices(plan)) {
    for (const ChoiceValues& values : choices) {
      if (never_saves(values, choices.front())) continue;
      set_choices(plan, values);
      note(estimator_.estimate(plan));
    }
  }
}

void FamilySearch::note(const Estimate& estimate) {
  if (estimate.feasible() && estimate.verdict <= allowed_) {
    note(ranked(estimate, options_));
  } else if (!nearest_ || miss(estimate) < miss(*nearest_)) {
    nearest_ = estimate;
  }
}

void FamilySearch::note(const RankedPlan& feasible) {
  ++result_.feasible;
  if (options_.all) {
    result_.ranked.push_back(feasible);
    keep(feasible);
  }
  if (best_ && !preferred(feasible, *best_, options_.objective)) return;
  best_ = feasible;
  best_rank_ = rank_of(feasible, options_.objective);
}

void FamilySearch::keep(const RankedPlan& feasible) {
  const auto wanted = static_cast<std::size_t>(options_.top);
  if (wanted == 0) return;
  if (last_kept_ && !preferred(feasible, *last_kept_, options_.objective)) return;
  result_.first.push_back(estimator_.estimate(feasible.plan));
  if (result_.first.size() >= 2 * wanted + 1000) keep_first();
}

std::optional<Bytes> FamilySearch::hopeless_memory() const {
  if (options_.all || !nearest_) return std::nullopt;
  const auto [kinds, nearest] = miss(*nearest_);
  if (kinds > 1) return std::nullopt;
  return estimator_.job().machine.device.memory * std::max(1.0, nearest);
}

bool FamilySearch::are_hopeless(Plan plan, const LikeChoices& choices) const {
  const std::optional<Bytes> limit = hopeless_memory();
  // Bounds come before sums of the same parts in another order.
  constexpr double rounding = 1 - 1e-9;
  return limit && std::all_of(choices.begin(), choices.end(), [&](const ChoiceValues& values) {
           set_choices(plan, values);
           return estimator_.parameters_lower_bound(plan) * rounding > *limit;
         });
}

void FamilySearch::try_variants(Plan plan) {
  const std::vector<Placement> placements = space_.placements(plan);
  const bool by_time = !options_.all && options_.objective != Objective::memory;
  // Parts of a batch, or of a message, may take less together than the whole where what is measured prices them, and
  // where the whole is larger than the device.
  const bool wholes_are_faster = by_time && plan.mesh[Axis::pipeline] == 1 && !estimator_.may_page(plan) &&
                                 estimator_.job().kernels.measured() == nullptr &&
                                 !estimator_.job().kernels.has_formulas() && estimator_.job().coefficients.exchanges.empty();
  std::vector<std::int64_t> settled;
  least_ = {};
  for (const std::int64_t micro_batches : space_.micro_batches(plan)) {
    plan.micro_batches = micro_batches;
    // Where the ranks are changes nothing about their memory. Smaller micro-batches keep proportionally less; where even
    // that is too much, there is nothing to price.
    const bool hopeless =
        least_.samples > 0 && least_.parameters + least_.of_samples * (samples_per_micro_batch(plan) / least_.samples) >
                                  estimator_.job().machine.device.memory;
    if (hopeless) continue;
    // Without a pipeline, cutting micro-batches into several of their own only saves memory: the parts of a tile and of a
    // message take no less time than the whole. All of the whole's plans fit, or were too slow.
    const bool needless = wholes_are_faster && std::any_of(settled.begin(), settled.end(),
                                                           [&](std::int64_t fewer) { return micro_batches % fewer == 0; });
    plan.placement = placements.front();
    const std::vector<LikeChoices>& groups = space_.choices(plan);
    if (groups.empty() || is_ruled_out(plan, groups.front().front())) continue;
    const auto may_be_beaten = [&] { return by_time && has_rivals(); };
    const bool all_beaten = needless || (may_be_beaten() && beaten(estimator_.lower_bound(plan), plan));
    misfits_ = 0;
    // Of each group, the stages with which nothing fits.
    std::vector<std::vector<std::vector<int>>> too_full(groups.size());
    for (const Placement& placement : placements) {
      plan.placement = placement;
      // Bounds that cost more to work out are closer.
      const bool placed_beaten = all_beaten || (may_be_beaten() && beaten(estimator_.placed_lower_bound(asked(plan)), plan));
      for (std::size_t group = 0; group < groups.size(); ++group) {
        const LikeChoices& choices = groups[group];
        if (!placed_beaten && are_hopeless(plan, choices)) {
          ++misfits_;
          continue;
        }
        set_choices(plan, choices.front());
        const auto is_beaten = [&] {
          return may_be_beaten() && (beaten(estimator_.uncut_time(plan), simplest(plan)) ||
                                     (!memory_first_ && beaten(estimator_.layers_time(plan), simplest(plan))));
        };
        if (placed_beaten || is_beaten()) {
          result_.pruned += static_cast<std::int64_t>(choices.size());
          continue;
        }
        // Where the ranks are matters to memory by the layers of the stages alone.
        std::vector<std::vector<int>>& known = too_full[group];
        const bool is_too_full =
            !known.empty() && (plan.mesh[Axis::pipeline] == 1 ||
                               std::find(known.begin(), known.end(), estimator_.stages(plan)) != known.end());
        if (is_too_full) continue;
        if (try_choices(plan, choices) && !options_.all) known.push_back(estimator_.stages(plan));
      }
      plan = simplest(plan);
    }
    if (misfits_ == 0) settled.push_back(micro_batches);
    // The stages of a pipeline are others with every number of micro-batches.
    if (misfits_ > 0 && plan.mesh[Axis::pipeline] == 1 && !options_.all) least_ = least_of(plan, groups);
  }
}

Plan FamilySearch::asked(Plan plan) const {
  plan.shard_group = options_.chosen[PlanChoice::shard_group].value_or(0);
  return plan;
}

Plan FamilySearch::simplest(Plan plan) {
  set_choices(plan, {});
  return plan;
}

bool FamilySearch::is_ruled_out(Plan plan, const ChoiceValues& values) {
  if (!may_break_limits_) return false;
  set_choices(plan, values);
  const Limits limits = estimator_.limits(plan);
  if (limits.empty()) return false;
  reject(plan, limits);
  return true;
}

bool FamilySearch::asks_for_choices(const SearchOptions& options) {
  return std::any_of(plan_choices().begin(), plan_choices().end(), [&](const PlanChoiceRow& row) {
    return row.possible != nullptr && options.chosen[row.choice].value_or(0) > 0;
  });
}

FamilySearch::Least FamilySearch::least_of(Plan plan, const std::vector<LikeChoices>& groups) const {
  Least least;
  for (const LikeChoices& choices : groups) {
    for (const ChoiceValues& values : choices) {
      if (never_saves(values, choices.front())) continue;
      set_choices(plan, values);
      const MemoryBreakdown& memory = estimator_.memory(plan);
      const Bytes of_samples = memory.activations + memory.input;
      // Scratch memory of kernels may shrink more than what samples take.
      const Bytes parameters = memory.total() - of_samples - memory.kernel_workspace;
      least.parameters = least.samples > 0 ? min(least.parameters, parameters) : parameters;
      least.of_samples = least.samples > 0 ? min(least.of_samples, of_samples) : of_samples;
      least.samples = samples_per_micro_batch(plan);
    }
  }
  return least;
}

bool FamilySearch::is_smaller_at_most(Trade trade) { return trade == Trade::open || trade == Trade::slower_but_smaller; }

bool FamilySearch::never_saves(const ChoiceValues& values, const ChoiceValues& simplest) {
  for (std::size_t i = 0; i < plan_choice_count; ++i) {
    if (!is_smaller_at_most(plan_choices()[i].trade) && values[i] > simplest[i]) return true;
  }
  return false;
}

bool FamilySearch::is_never_better(const ChoiceValues& values, const ChoiceValues& simplest) {
  for (std::size_t i = 0; i < plan_choice_count; ++i) {
    if (values[i] == plan_choices()[i].never_better && values[i] > simplest[i]) return true;
  }
  return false;
}

bool FamilySearch::try_choices(Plan plan, const LikeChoices& choices) {
  const bool by_time = !options_.all && options_.objective != Objective::memory;
  std::vector<ChoiceValues> settled;  // fit, or are too slow already: nothing is gained by what is slower but smaller
  const auto is_needless = [&](const ChoiceValues& values) {
    return std::any_of(settled.begin(), settled.end(), [&](const ChoiceValues& known) {
      // What is computed again is not moved to the host and back.
      const bool moves = known[static_cast<std::size_t>(PlanChoice::offload_activations)] > 0;
      for (std::size_t i = 0; i < plan_choice_count; ++i) {
        const PlanChoiceRow& row = plan_choices()[i];
        const bool slower = row.trade == Trade::slower_but_smaller && known[i] < values[i] &&
                            !(moves && row.choice == PlanChoice::recompute);
        if (!slower && known[i] != values[i]) return false;
      }
      return true;
    });
  };
  std::vector<ChoiceValues> too_large;
  const auto is_too_large = [&](const ChoiceValues& values) {
    return std::any_of(too_large.begin(), too_large.end(), [&](const ChoiceValues& known) {
      for (std::size_t i = 0; i < plan_choice_count; ++i) {
        const Trade trade = plan_choices()[i].trade;
        const bool larger = known[i] < values[i] && trade == Trade::first_is_smallest && known[i] == 0;
        if (!larger && known[i] != values[i]) return false;
      }
      return true;
    });
  };
  bool none_fits = true;
  for (const ChoiceValues& values : choices) {
    if (!options_.all && (is_never_better(values, choices.front()) || (by_time && is_too_large(values)))) {
      ++result_.pruned;
      continue;
    }
    if (by_time && is_needless(values)) {
      ++result_.pruned;
      none_fits = false;
      continue;
    }
    set_choices(plan, values);
    std::optional<Seconds> iteration;
    const auto is_too_slow = [&] {
      iteration = estimator_.iteration(plan);
      if (!by_time || !beaten(*iteration, plan)) return false;
      ++result_.pruned;
      settled.push_back(values);
      none_fits = false;
      return true;
    };
    // Either rules plans out: what is likely to do so comes first.
    const bool time_first = has_rivals() && !memory_first_;
    if (time_first && is_too_slow()) continue;
    if (const std::optional<Bytes> limit = hopeless_memory(); limit && estimator_.needs_more_than(plan, *limit)) {
      memory_first_ = true;
      ++misfits_;
      too_large.push_back(values);
      continue;
    }
    const MemoryBreakdown breakdown = estimator_.memory(plan);
    if (const auto limit = estimator_.host_limit(plan, breakdown)) {
      ++result_.priced;
      none_fits = false;
      Limits limits;
      limits.add(*limit);
      reject(plan, limits);
      continue;
    }
    const Bytes memory = breakdown.total();
    const Bytes available = estimator_.job().machine.device.memory;
    const Verdict verdict = verdict_of(breakdown, available);
    memory_first_ = verdict > allowed_;
    if (verdict <= allowed_) {
      if (!time_first && is_too_slow()) continue;
      ++result_.priced;
      none_fits = false;
      settled.push_back(values);
      note(RankedPlan{plan, *iteration, memory, options_.allow_risk ? Verdict::fits : verdict});
      continue;
    }
    ++result_.priced;
    has_risk_ = has_risk_ || verdict == Verdict::at_risk;
    ++misfits_;
    too_large.push_back(values);
    // Memory alone is the mildest kind of trouble.
    if (!nearest_ || std::tuple(1, memory / available) < miss(*nearest_)) note(estimator_.estimate(plan));
  }
  return none_fits;
}

}  // namespace ddl
