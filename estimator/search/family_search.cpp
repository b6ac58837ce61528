#include "estimator/search/family_search.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <limits>
#include <tuple>
#include <utility>

#include "estimator/search/memory_bounds.hpp"
#include "estimator/step/step_of.hpp"
#include "estimator/strategies/data.hpp"

namespace ddl {
namespace {

/// Returns the trades of all choices (Trade). A search looks trades up for each pair of plans.
const std::array<Trade, plan_choice_count>& trades() {
  static const auto all = [] {
    std::array<Trade, plan_choice_count> of_choices{};
    for (std::size_t i = 0; i < plan_choice_count; ++i) of_choices[i] = plan_choices()[i].trade;
    return of_choices;
  }();
  return all;
}

constexpr EnumArray<Closeness, SearchBound> bounds_by_closeness{
    SearchBound::size,  SearchBound::degrees, SearchBound::placement, SearchBound::exchanges,
    SearchBound::split, SearchBound::stages,  SearchBound::layers};

/// Returns the choices without sharding and offloading of parameters. These choices affect only what happens once per step.
ChoiceValues with_whole_parameters(ChoiceValues values) {
  for (const PlanChoice choice :
       {PlanChoice::zero, PlanChoice::shard_group, PlanChoice::reshard, PlanChoice::secondary_shards, PlanChoice::offload})
    values[static_cast<std::size_t>(choice)] = 0;
  return values;
}

/// Returns the smallest number of blocks above `few` that meets a condition, or `most` + 1 if no
/// number does. If a number meets the condition, all larger numbers must meet it, too.
template <class Condition>
int least_blocks(int few, int most, const Condition& is_met) {
  int enough = most + 1;
  while (enough - few > 1) {
    const int middle = few + (enough - few) / 2;
    (is_met(middle) ? enough : few) = middle;
  }
  return enough;
}

}  // namespace

FamilySearch::FamilySearch(SearchCommons& commons, Family family)
    : commons_(commons),
      estimator_(commons.estimator),
      options_(commons.options),
      space_(commons.space),
      family_(family),
      may_break_limits_(options_.micro_batches.has_value() || asks_for_choices(options_) ||
                        limits_zero(estimator_.job().assumptions, estimator_.job().facts) ||
                        estimator_.job().assumptions.weight_versions || estimator_.job().assumptions.token_pieces > 1),
      may_be_preferred_(options_.errors != nullptr && options_.tie > 0 &&
                        is_known(estimator_.job().coefficients.learned, family)) {}

Plan FamilySearch::plan_of(const Mesh& mesh) const {
  Plan plan;
  plan.mesh = mesh;
  plan.global_batch = options_.global_batch;
  plan.precision = options_.precision;
  plan.optimizer = options_.optimizer;
  if (options_.placement) plan.placement = *options_.placement;
  return plan;
}

bool FamilySearch::admits(const Mesh& mesh) {
  const Plan plan = plan_of(mesh);
  if (options_.admits && !options_.admits(mesh)) {
    shapeless_ += space_.count(plan);
    return false;
  }
  const Limits limits = estimator_.limits(plan);
  if (limits.empty()) return true;
  shapeless_ += space_.count(plan);
  if (!nearest_shape_ || miss(limits) < miss(*nearest_shape_)) {
    nearest_shape_.emplace();
    nearest_shape_->plan = plan;
    nearest_shape_->limits = limits;
  }
  return false;
}

void FamilySearch::begin(Verdict allowed) {
  allowed_ = allowed;
  best_.reset();
  nearest_ = nearest_shape_;
  pruned_by_leader_ = has_risk_ = false;
  unstartable_ = 0;
  counts_ = {};
  possible_of_.reset();
}

void FamilySearch::give_up(std::int64_t count) {
  counts_.considered += count;
  counts_.pruned += count;
}

void FamilySearch::try_mesh(const Mesh& mesh, std::int64_t count) {
  counts_.considered += count;
  const Plan plan = plan_of(mesh);
  // If no plan of this mesh fits, and a plan that does not fit is already known, the mesh is skipped.
  const bool needs_example = options_.finds_nearest && !nearest_;
  if (has(SearchBound::parameters) && !needs_example && !options_.all && cannot_fit(plan)) return;
  // If a tool starts none of this many plans of a strategy, it is assumed to start no plan of the strategy.
  constexpr std::int64_t most_unstartable = 2000;
  if (!best_ && unstartable_ > most_unstartable) return;
  try_variants(plan, count);
}

Seconds FamilySearch::guess(const Mesh& mesh) const {
  Plan plan = plan_of(mesh);
  Seconds least(std::numeric_limits<double>::infinity());
  for (const TimeBounds::BySize& bare : commons_.bounds.by_micro_batches(plan)) {
    if (bare.bound >= least) break;
    plan.micro_batches = bare.micro_batches;
    for (const LikeChoices& choices : space_.choices(plan)) {
      set_choices(plan, choices.front());
      if (estimator_.limits(plan).empty()) least = min(least, commons_.time_bounds.least(Closeness::exchanges, plan));
    }
    plan = simplest(plan);
  }
  return least;
}

void FamilySearch::end(const std::deque<Mesh>& meshes) {
  allowed_ = Verdict::at_risk;
  if (!options_.finds_nearest || best_ || pruned_by_leader_ || !nearest_) return;
  if (nearest_->limits.begin()->kind != Limit::Kind::memory) return;
  save_most(nearest_->plan);
  if (const std::optional<Plan> plan = smallest(meshes)) save_most(*plan);
}

void FamilySearch::report(bool finished, SearchResult& result) const {
  result.considered += shapeless_ + counts_.considered;
  // The number of plans of a mesh that are pruned together is an estimate. A mesh may have several numbers of recomputed
  // blocks, which are considered as one plan.
  result.pruned += std::max<std::int64_t>(0, std::min(counts_.pruned, counts_.considered - counts_.estimated));
  result.timed += counts_.timed;
  result.estimated += counts_.estimated;
  result.feasible += counts_.feasible;
  result.ranked.insert(result.ranked.end(), ranked_.begin(), ranked_.end());
  if (best_) {
    result.best.push_back(estimator_.estimate(best_->plan));
    assert(result.best.back().feasible());
  } else if (pruned_by_leader_) {
    result.behind.push_back(family_);
  } else if (nearest_ && finished && unstartable_ == 0) {
    result.rejected.push_back(*nearest_);
  }
}

bool FamilySearch::may_be_beaten() const { return !options_.all && options_.objective != Objective::memory && has_rivals(); }

bool FamilySearch::has_rivals() const { return best_ || commons_.leaders.are_enough(); }

bool FamilySearch::beaten(Seconds bound, const Plan& plan) {
  if (options_.all) return false;
  if (options_.objective == Objective::memory) {
    return best_ && rounded(least_memory(plan).value()) > best_rank_.first;
  }
  const double time = rounded(bound.value());
  // The verdict of the plan is not known yet, so the best possible verdict is assumed.
  const Verdict verdict = options_.allow_risk ? Verdict::fits : allowed_;
  const auto is_behind = [&](const Rank& known) {
    if (known.verdict != verdict) return known.verdict < verdict;
    return time > known.first || (time == known.first && Rank{verdict, time, 0.0, simplicity_of(plan)} >= known);
  };
  if (best_ && is_behind(best_rank_)) return true;
  const std::optional<Rank>& last = commons_.leaders.last();
  if (!last || may_be_preferred_ || !is_behind(*last)) return false;
  pruned_by_leader_ = true;
  return true;
}

bool FamilySearch::beaten(Closeness closeness, const Plan& plan, const Plan& simplest) {
  return has(bounds_by_closeness[closeness]) && beaten(commons_.time_bounds.least(closeness, plan), simplest);
}

Bytes FamilySearch::least_memory(Plan plan) const {
  const PlanChoiceRow& row = row_of(PlanChoice::offload);
  row.set(plan, space_.values_of(row, plan).back());
  return memory_lower_bound(estimator_.job(), plan);
}

bool FamilySearch::cannot_fit(Plan plan) const {
  const PlanChoiceRow& row = row_of(PlanChoice::offload);
  const std::vector<int> values = space_.values_of(row, plan);
  return std::all_of(values.begin(), values.end(), [&](int value) {
    row.set(plan, value);
    return host_lacks_memory(estimator_, plan) ||
           memory_lower_bound(estimator_.job(), plan) > estimator_.job().machine.device.memory;
  });
}

void FamilySearch::reject(const Plan& plan, const Limits& limits) {
  if (nearest_ && miss(limits) >= miss(*nearest_)) return;
  Estimate estimate;
  estimate.plan = plan;
  estimate.limits = limits;
  note(estimate);
}

std::optional<Plan> FamilySearch::smallest(const std::deque<Mesh>& meshes) const {
  constexpr std::size_t tried = 500;
  std::optional<Plan> found;
  Bytes least{};
  const std::size_t step = meshes.size() / tried + 1;
  for (std::size_t i = 0; i < meshes.size(); i += step) {
    Plan plan = plan_of(meshes[i]);
    plan.micro_batches = space_.micro_batches(plan).back();
    for (const PlanChoiceRow& row : plan_choices()) {
      const std::vector<int> values = space_.values_of(row, plan);
      if (is_smaller_at_most(row.trade) && !values.empty()) row.set(plan, values.back());
    }
    const Bytes needed = estimator_.memory(plan).total();
    if (!found || needed < least) {
      found = plan_of(meshes[i]);
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

bool FamilySearch::note(const RankedPlan& feasible) {
  if (!is_finite(feasible.step_time) || !is_finite(feasible.memory)) {
    // Plans with NaN or infinite values cannot be ordered.
    Limits limits;
    limits.add({Limit::Kind::not_finite});
    reject(feasible.plan, limits);
    return true;
  }
  if (options_.only_startable) {
    Estimate shape;
    shape.plan = feasible.plan;
    if (!options_.is_startable(shape)) {
      ++unstartable_;
      return false;
    }
  }
  ++counts_.feasible;
  if (options_.all) {
    ranked_.push_back(feasible);
    commons_.first.keep(feasible);
  }
  if (best_ && !preferred(feasible, *best_, options_.objective)) return true;
  best_ = feasible;
  best_rank_ = rank_of(feasible, options_.objective);
  commons_.leaders.set(family_, best_rank_);
  if (commons_.best && !preferred(feasible, *commons_.best, options_.objective)) return true;
  commons_.best = feasible;
  if (options_.on_better) options_.on_better(feasible);
  return true;
}

std::optional<Bytes> FamilySearch::hopeless_memory() const {
  if (options_.all) return std::nullopt;
  // The nearest plan is of interest only if no plan fits.
  if (!options_.finds_nearest || best_ || pruned_by_leader_) return estimator_.job().machine.device.memory;
  if (!nearest_) return std::nullopt;
  const auto [kinds, nearest] = miss(*nearest_);
  if (kinds > 1) return std::nullopt;
  return estimator_.job().machine.device.memory * std::max(1.0, nearest);
}

bool FamilySearch::activations_are_hopeless(const Plan& plan) const {
  const std::optional<Bytes> limit = hopeless_memory();
  if (!has(SearchBound::activations) || !limit || estimator_.job().assumptions.memory_reuse) return false;
  if (best_ || pruned_by_leader_) return false;
  // Activations in host memory take no memory of the device.
  if (space_.values_of(row_of(PlanChoice::offload_activations), plan).size() > 1) return false;
  return commons_.activation_bounds.least(plan) > *limit;
}

bool FamilySearch::all_keep_too_much(Plan plan, const LikeChoices& choices) const {
  const std::optional<Bytes> limit = hopeless_memory();
  // If limits exclude values, the possible choices may lack the first value of a choice.
  if (!has(SearchBound::kept) || !limit || may_break_limits_) return false;
  // The last choices save most memory.
  return std::all_of(choices.rbegin(), choices.rend(), [&](const ChoiceValues& values) {
    if (never_saves(values, choices.front())) return true;
    set_choices(plan, values);
    if (estimator_.host_limit(plan, {})) return true;
    if (!keeps_more_than(estimator_, plan, *limit)) return false;
    if (!space_.may_recompute_blocks(values)) return true;
    plan.recompute = Recompute::full;
    return keeps_more_than(estimator_, plan, *limit);
  });
}

bool FamilySearch::sharding_is_beaten(const Plan& plan) {
  const std::optional<Bytes> limit = hopeless_memory();
  return has(SearchBound::sharding) && limit && beaten(commons_.sharding_bounds.least(plan, *limit), plan);
}

bool FamilySearch::savings_are_slow(const Plan& plan, const LikeChoices& choices) {
  const std::optional<Bytes> limit = hopeless_memory();
  if (!has(SearchBound::savings) || !limit || !may_be_beaten()) return false;
  const auto are_slow = [&](const SavingChoices& saving) {
    return all_that_fit_are_slow(estimator_, commons_.time_bounds, space_, {plan, saving}, *limit,
                                 [&](Seconds time) { return beaten(time, simplest(plan)); });
  };
  // Possible choices are stored anew for each plan.
  if (may_break_limits_) return are_slow(SavingChoices(choices));
  return are_slow(commons_.saving_choices.try_emplace(&choices, choices).first->second);
}

std::vector<std::int64_t> FamilySearch::promising(Plan plan) {
  const std::vector<std::int64_t>& all = space_.micro_batches(plan);
  if (may_break_limits_ || plan.mesh[Axis::pipeline] == 1 || !may_be_beaten()) return all;
  std::vector<std::int64_t> left;
  double least_beaten = std::numeric_limits<double>::infinity();
  for (const TimeBounds::BySize& each : commons_.bounds.by_micro_batches(plan)) {
    const double bound = each.bound.value();
    if (rounded(bound) > rounded(least_beaten)) break;
    plan.micro_batches = each.micro_batches;
    if (beaten(each.bound, plan)) {
      least_beaten = std::min(least_beaten, bound);
    } else {
      left.push_back(each.micro_batches);
    }
  }
  std::sort(left.begin(), left.end());
  return left;
}

void FamilySearch::try_variants(Plan plan, std::int64_t count) {
  const std::vector<Placement> placements = space_.placements(plan);
  const bool by_time = !options_.all && options_.objective != Objective::memory;
  // Parts of a batch, or of a message, may take less time together than the whole in three cases: measurements predict their
  // times, the whole is larger than the device, or communication is overlapped with the kernels of another part.
  const bool wholes_are_faster = by_time && plan.mesh[Axis::pipeline] == 1 && !may_page(estimator_.job(), plan) &&
                                 estimator_.job().kernels.measured() == nullptr &&
                                 !estimator_.job().kernels.has_formulas() &&
                                 estimator_.job().coefficients.exchanges.empty() &&
                                 !estimator_.job().coefficients.software.overlaps_expert_exchanges.value_or(false);
  std::vector<std::int64_t> settled;
  // The number of plans is almost equal for all numbers of micro-batches.
  const auto all = static_cast<std::int64_t>(space_.micro_batches(plan).size());
  const std::vector<std::int64_t> left = promising(plan);
  counts_.pruned += count / all * (all - static_cast<std::int64_t>(left.size()));
  for (const std::int64_t micro_batches : left) {
    plan.micro_batches = micro_batches;
    if (activations_are_hopeless(plan)) continue;
    // Without a pipeline, smaller micro-batches only save memory, because parts of a tile or of a message take at least as
    // long as the whole. Smaller micro-batches are skipped if every plan with larger micro-batches fits or is too slow.
    const bool needless = wholes_are_faster && std::any_of(settled.begin(), settled.end(),
                                                           [&](std::int64_t fewer) { return micro_batches % fewer == 0; });
    plan.placement = placements.front();
    // If requested choices are impossible, the reason is reported, so these choices are examined first.
    if (may_break_limits_ && possible_choices(plan).empty()) continue;
    if (needless || (may_be_beaten() && beaten(commons_.bounds.of(plan), plan))) {
      counts_.pruned += count / all;
      settled.push_back(micro_batches);
      continue;
    }
    const std::vector<LikeChoices>& groups = possible_choices(plan);
    if (groups.empty()) continue;
    misfits_ = 0;
    const std::int64_t unstartable = unstartable_;
    try_placements(plan, placements, groups);
    // A tool may start a plan with smaller micro-batches only.
    if (misfits_ == 0 && unstartable_ == unstartable) settled.push_back(micro_batches);
  }
}

void FamilySearch::try_placements(Plan plan, const std::vector<Placement>& placements,
                                  const std::vector<LikeChoices>& groups) {
  // For each group of choices, the stages with which no plan fits.
  std::vector<std::vector<std::vector<int>>> too_full(groups.size());
  for (const Placement& placement : placements) {
    plan.placement = placement;
    // Bounds that are closer to the estimate take longer to compute.
    if (may_be_beaten() && (beaten(Closeness::placement, asked(plan), plan) || sharding_is_beaten(plan))) {
      for (const LikeChoices& choices : groups) counts_.pruned += static_cast<std::int64_t>(choices.size());
      continue;
    }
    for (std::size_t group = 0; group < groups.size(); ++group) {
      const LikeChoices& choices = groups[group];
      // The placement affects memory only because it changes the layers of the stages.
      std::vector<std::vector<int>>& known = too_full[group];
      if (!known.empty() && plan.mesh[Axis::pipeline] == 1) continue;
      const Plan simple = simplest(plan);
      set_choices(plan, choices.front());
      const auto is_beaten = [&](Closeness first, Closeness last) {
        if (!may_be_beaten()) return false;
        for (Closeness closeness = first; closeness <= last; closeness = next(closeness)) {
          if (!beaten(closeness, plan, simple)) continue;
          counts_.pruned += static_cast<std::int64_t>(choices.size());
          return true;
        }
        return false;
      };
      // If the plan probably needs too much memory, expensive bounds are computed later.
      const bool memory_first = memory_first_;
      if (is_beaten(Closeness::exchanges, memory_first ? Closeness::exchanges : Closeness::layers)) continue;
      if (all_keep_too_much(plan, choices)) {
        memory_first_ = true;
        ++misfits_;
        continue;
      }
      if (memory_first && is_beaten(Closeness::split, Closeness::stages)) continue;
      if (!known.empty() && std::find(known.begin(), known.end(), estimator_.stages(plan)) != known.end()) continue;
      if (savings_are_slow(plan, choices)) {
        counts_.pruned += static_cast<std::int64_t>(choices.size());
        memory_first_ = false;
        ++misfits_;
        continue;
      }
      if (try_choices(plan, choices) && !options_.all) known.push_back(estimator_.stages(plan));
    }
    plan = simplest(plan);
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

const std::vector<LikeChoices>& FamilySearch::possible_choices(Plan plan) {
  const std::vector<LikeChoices>& all = space_.choices(plan);
  if (!may_break_limits_ || all.empty()) return all;
  if (possible_of_ == plan) return possible_;
  possible_of_ = plan;
  const auto is_impossible = [&](const ChoiceValues& values) {
    set_choices(plan, values);
    return !estimator_.limits(plan).empty();
  };
  possible_ = all;
  for (LikeChoices& group : possible_) std::erase_if(group, is_impossible);
  std::erase_if(possible_, [](const LikeChoices& group) { return group.empty(); });
  if (possible_.empty()) {
    set_choices(plan, all.front().front());
    reject(plan, estimator_.limits(plan));
  }
  return possible_;
}

bool FamilySearch::asks_for_choices(const SearchOptions& options) {
  return std::any_of(plan_choices().begin(), plan_choices().end(), [&](const PlanChoiceRow& row) {
    return row.possible != nullptr && options.chosen[row.choice].value_or(0) > 0;
  });
}

bool FamilySearch::is_smaller_at_most(Trade trade) { return trade == Trade::open || trade == Trade::slower_but_smaller; }

bool FamilySearch::never_saves(const ChoiceValues& values, const ChoiceValues& simplest) {
  for (std::size_t i = 0; i < plan_choice_count; ++i) {
    if (values[i] > simplest[i] && !is_smaller_at_most(trades()[i])) return true;
  }
  return false;
}

bool FamilySearch::is_never_better(const ChoiceValues& values, const ChoiceValues& simplest) {
  for (std::size_t i = 0; i < plan_choice_count; ++i) {
    if (values[i] > simplest[i] && values[i] == plan_choices()[i].never_better) return true;
  }
  return false;
}

bool FamilySearch::try_blocks(Plan plan) {
  plan.recompute = Recompute::full;
  const Bytes available = estimator_.job().machine.device.memory;
  const auto is_too_slow = [&](int blocks) {
    plan.recompute_blocks = blocks;
    // Plans that recompute more blocks take at least as long, except for rounding.
    constexpr double rounding = 1 - 1e-11;
    return has_rivals() && beaten(estimator_.step_time(plan) * rounding, plan);
  };
  const auto keeps_little = [&](int blocks) {
    plan.recompute_blocks = blocks;
    return !keeps_more_than(estimator_, plan, available);
  };
  bool is_too_large = false;
  const auto fits = [&](int blocks) {
    plan.recompute_blocks = blocks;
    is_too_large = needs_more_than(estimator_, plan, available);
    return !is_too_large && verdict_of(estimator_.memory(plan), available) <= allowed_;
  };
  const int most = estimator_.steps().most_blocks_again(plan);
  if (most == 0 || is_too_slow(1)) return true;
  // The memory that backward needs is cheap to compute, and gives a lower bound for the number of blocks.
  if (!keeps_little(most)) return false;
  const int least = least_blocks(0, most - 1, keeps_little);
  if (least > 1 && is_too_slow(least)) return true;
  // Plans with equal virtual stages share most of the memory that is computed for the largest number of blocks.
  if (!fits(most)) return !is_too_large;
  int few = least - 1, enough = least;
  for (int step = 1; enough <= most && !fits(enough); step *= 2) {
    few = enough;
    if (enough == most || is_too_slow(enough + 1)) return true;
    enough = std::min(enough + step, most);
  }
  if (enough > most) return true;
  enough = least_blocks(few, enough - 1, fits);
  if (is_too_slow(enough)) return true;
  plan.recompute_blocks = enough;
  note_blocks(plan);
  return true;
}

void FamilySearch::try_blocks_by_memory(Plan plan) {
  const Bytes available = estimator_.job().machine.device.memory;
  const auto needs = [&](int blocks) {
    plan.recompute_blocks = blocks;
    const MemoryBreakdown& memory = estimator_.memory(plan);
    return std::pair(verdict_of(memory, available), rounded(memory.total().value()));
  };
  const auto [verdict_without, without] = needs(0);
  plan.recompute = Recompute::full;
  const auto [verdict, least] = needs(0);
  const bool may_be_best = options_.all || !best_ || least <= best_rank_.first;
  const int most = may_be_best && verdict <= allowed_ ? estimator_.steps().most_blocks_again(plan) : 0;
  int last = 0;
  const auto add = [&](Verdict worst, double largest) {
    const int enough = least_blocks(0, most, [&](int blocks) {
      const auto [its_verdict, memory] = needs(blocks);
      return its_verdict <= worst && memory <= largest;
    });
    if (enough > most || enough == last) return;
    last = plan.recompute_blocks = enough;
    note_blocks(plan);
  };
  constexpr double any = std::numeric_limits<double>::infinity();
  if (options_.all && verdict_without > Verdict::at_risk) add(Verdict::at_risk, any);
  if (options_.all && verdict_without > Verdict::fits && verdict == Verdict::fits) add(Verdict::fits, any);
  if (without > least) add(verdict, least);
}

void FamilySearch::note_blocks(const Plan& plan) {
  const MemoryBreakdown& breakdown = estimator_.memory(plan);
  if (estimator_.host_limit(plan, breakdown)) return;
  const Verdict verdict = verdict_of(breakdown, estimator_.job().machine.device.memory);
  const Bytes memory = breakdown.total();
  ++counts_.estimated;
  note(RankedPlan{plan, estimator_.step_time(plan), memory, options_.allow_risk ? Verdict::fits : verdict});
}

bool FamilySearch::try_choices(Plan plan, const LikeChoices& choices) {
  const bool by_time = !options_.all && options_.objective != Objective::memory;
  const std::array<Trade, plan_choice_count>& trade_of = trades();
  // Choices that are slower and need less memory cannot be better than the choices in `settled`.
  std::vector<ChoiceValues> settled;      // choices of plans that fit, or that take too long
  std::vector<ChoiceValues> slow_steps;   // choices of plans that are too slow with any sharding of parameters
  std::vector<ChoiceValues> quick_steps;  // choices of plans that are known and not too slow
  const auto is_at_best_slower = [&](const std::vector<ChoiceValues>& than, const ChoiceValues& values) {
    return std::any_of(than.begin(), than.end(), [&](const ChoiceValues& known) {
      // A plan that offloads activations recomputes none.
      const bool moves = known[static_cast<std::size_t>(PlanChoice::offload_activations)] > 0;
      for (std::size_t i = 0; i < plan_choice_count; ++i) {
        if (known[i] == values[i]) continue;
        const bool slower = known[i] < values[i] && trade_of[i] == Trade::slower_but_smaller &&
                            !(moves && i == static_cast<std::size_t>(PlanChoice::recompute));
        if (!slower) return false;
      }
      return true;
    });
  };
  const auto is_slow_step = [&](const ChoiceValues& values) {
    if (!has(SearchBound::whole_step) || !by_time || !has_rivals()) return false;
    const ChoiceValues step = with_whole_parameters(values);
    if (is_at_best_slower(slow_steps, step)) return true;
    if (std::find(quick_steps.begin(), quick_steps.end(), step) != quick_steps.end()) return false;
    Plan bare = plan;
    set_choices(bare, step);
    const bool is_slow = beaten(commons_.time_bounds.of_step(bare), simplest(plan));
    (is_slow ? slow_steps : quick_steps).push_back(step);
    return is_slow;
  };
  std::vector<ChoiceValues> too_large;
  // Choices of plans that do not fit even if they recompute all blocks.
  std::vector<ChoiceValues> too_large_whole;
  const auto is_larger = [&](const std::vector<ChoiceValues>& than, const ChoiceValues& values) {
    // The requested number of blocks is recomputed in each virtual stage, so plans with more
    // virtual stages keep less memory.
    if (values[static_cast<std::size_t>(PlanChoice::recompute_blocks)] > 0) return false;
    return std::any_of(than.begin(), than.end(), [&](const ChoiceValues& known) {
      for (std::size_t i = 0; i < plan_choice_count; ++i) {
        if (known[i] == values[i]) continue;
        const bool larger = known[i] == 0 && values[i] > 0 && trade_of[i] == Trade::first_is_smallest;
        if (!larger) return false;
      }
      return true;
    });
  };
  bool none_fits = true;
  const auto try_fewer = [&](const ChoiceValues& values) {
    if (!by_time || !space_.may_recompute_blocks(values) || is_larger(too_large_whole, values) || is_slow_step(values))
      return;
    set_choices(plan, values);
    if (!try_blocks(plan)) too_large_whole.push_back(values);
  };
  for (const ChoiceValues& values : choices) {
    // A value that is never better than the first one may still be the only one that a tool starts.
    const bool is_worse = !options_.only_startable && is_never_better(values, choices.front());
    if (!options_.all && (is_worse || (by_time && is_larger(too_large, values)))) {
      ++counts_.pruned;
      if (!is_worse) try_fewer(values);
      continue;
    }
    if (!by_time && space_.may_recompute_blocks(values)) {
      set_choices(plan, values);
      try_blocks_by_memory(plan);
    }
    // Time and memory both exclude plans. The check that is more likely to exclude this plan comes first.
    const bool time_first = has_rivals() && !memory_first_;
    if (by_time && (is_at_best_slower(settled, values) || (time_first && is_slow_step(values)))) {
      ++counts_.pruned;
      none_fits = false;
      continue;
    }
    set_choices(plan, values);
    if (const auto limit = estimator_.host_limit(plan, {})) {
      Limits limits;
      limits.add(*limit);
      reject(plan, limits);
      continue;
    }
    std::optional<Seconds> step_time;
    const auto is_too_slow = [&] {
      step_time = estimator_.step_time(plan);
      ++counts_.timed;
      if (!by_time || !beaten(*step_time, plan)) return false;
      ++counts_.pruned;
      settled.push_back(values);
      none_fits = false;
      return true;
    };
    if (time_first && is_too_slow()) continue;
    if (const std::optional<Bytes> limit = hopeless_memory(); limit && needs_more_than(estimator_, plan, *limit)) {
      memory_first_ = true;
      ++misfits_;
      too_large.push_back(values);
      try_fewer(values);
      continue;
    }
    const MemoryBreakdown breakdown = estimator_.memory(plan);
    if (const auto limit = estimator_.host_limit(plan, breakdown)) {
      ++counts_.estimated;
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
      ++counts_.estimated;
      none_fits = false;
      const RankedPlan fitting{plan, *step_time, memory, options_.allow_risk ? Verdict::fits : verdict};
      if (note(fitting)) settled.push_back(values);
      continue;
    }
    ++counts_.estimated;
    has_risk_ = has_risk_ || verdict == Verdict::at_risk;
    ++misfits_;
    too_large.push_back(values);
    // Among the reasons why a plan is impossible, a lack of memory is the mildest.
    if (options_.finds_nearest && (!nearest_ || std::tuple(1, memory / available) < miss(*nearest_)))
      note(estimator_.estimate(plan));
    try_fewer(values);
  }
  return none_fits;
}

}  // namespace ddl
