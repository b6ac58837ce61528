#include "estimator/search/search.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <map>
#include <string_view>
#include <tuple>

#include "estimator/strategies/context.hpp"
#include "estimator/strategies/expert.hpp"
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

/// Whether the words of a family allow a ZeRO stage: `fsdp` says one, `data` none.
bool allows_zero_stage(const SearchOptions& options, Family family, int stage) {
  const auto allows = [&](const NamedFamily& each) {
    return each.family == family && (each.zero_stage == 0 || each.zero_stage == stage);
  };
  return options.families.empty() || std::any_of(options.families.begin(), options.families.end(), allows);
}

/// A value of each choice.
using ChoiceValues = std::array<int, plan_choice_count>;
void set_choices(Plan& plan, const ChoiceValues& values) {
  for (std::size_t i = 0; i < plan_choice_count; ++i) plan_choices()[i].set(plan, values[i]);
}

/// Every way of writing `devices` as a product of degrees, grouped by family.
class Degrees {
 public:
  Degrees(const SearchOptions& options, const ModelFacts& facts)
      : options_(options),
        spatial_rank_(facts.model->input.sequence ? 0 : facts.model->input.rank),
        square_(mirrors_alike(facts)),
        facts_(facts) {
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
  void fill(Plan plan, std::size_t slot, std::int64_t left) {
    Mesh::Degrees& degrees = plan.mesh.degrees();
    if (slot + 1 == degrees.size()) {
      degrees[slot] = static_cast<int>(left);
      const Family family = plan.mesh.family();
      if (!is_meaningful(family)) return;
      const auto is_asked = [&](const NamedFamily& each) { return each.family == family; };
      if (!options_.families.empty() && std::none_of(options_.families.begin(), options_.families.end(), is_asked)) return;
      by_family_[family].push_back(plan);
      return;
    }
    // A model without extents is asked once, so that the family is rejected with that reason.
    constexpr std::size_t first = first_dimension_of(Axis::spatial);
    const std::size_t extents = static_cast<std::size_t>(std::max(1, spatial_rank_));
    const bool is_extent = slot >= first && slot < first + Tiles{}.size();
    const bool unused = is_extent && slot >= first + extents;
    const bool never = is_never_used(slot);
    for (const std::int64_t d : divisors_) {
      if (left % d != 0) continue;
      if ((unused || never) && d > 1) break;
      // Of a square sample, 2×4 tiles and 4×2 tiles are mirror images: the extents are cut in rising order.
      if (square_ && is_extent && !unused && slot > first && d < degrees[slot - 1]) continue;
      degrees[slot] = static_cast<int>(d);
      fill(plan, slot + 1, left / d);
    }
  }

  /// Whether the model has nothing that an axis divides, which nobody has asked for.
  [[nodiscard]] bool is_never_used(std::size_t slot) const {
    const auto is_asked = [&](Axis axis) {
      return std::any_of(options_.families.begin(), options_.families.end(),
                         [&](const NamedFamily& each) { return (each.family & family_bit(axis)) != 0; });
    };
    if (slot == first_dimension_of(Axis::expert)) return facts_.experts == 0 && !is_asked(Axis::expert);
    if (slot == first_dimension_of(Axis::context)) return facts_.context_units == 0 && !is_asked(Axis::context);
    return false;
  }

  const SearchOptions& options_;
  int spatial_rank_;
  bool square_;
  const ModelFacts& facts_;
  std::vector<std::int64_t> divisors_;
  std::map<Family, std::vector<Plan>> by_family_;
};

/// Choices of plans that divide layers in the same way, the simplest first.
using LikeChoices = std::vector<ChoiceValues>;

class VariantSpace {
 public:
  VariantSpace(const SearchOptions& options, const ModelFacts& facts, int devices_per_node)
      : options_(options),
        facts_(facts),
        devices_per_node_(devices_per_node),
        several_nodes_(options.devices > devices_per_node) {}

  [[nodiscard]] const std::vector<std::int64_t>& micro_batches(const Plan& plan) const {
    const std::int64_t replica =
        std::max<std::int64_t>(1, (plan.global_batch + plan.mesh.batch_parts() - 1) / plan.mesh.batch_parts());
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

  [[nodiscard]] std::vector<Placement> placements(const Plan& plan) const {
    std::vector<Placement> placements{plan.placement};
    if (!options_.placement && several_nodes_) {
      // One more for every axis that could be the one that lives inside the node.
      bool first = true;
      for (const Axis axis : plan.placement) {
        if (plan.mesh[axis] == 1) continue;
        if (!first) {
          Placement placement = plan.placement;
          const auto at = std::find(placement.begin(), placement.end(), axis);
          std::rotate(placement.begin(), at, at + 1);
          placements.push_back(placement);
        }
        first = false;
      }
    }
    return placements;
  }

  /// The choices that a plan of this mesh and with these micro-batches may have, by how they divide layers.
  [[nodiscard]] const std::vector<LikeChoices>& choices(const Plan& plan) const {
    const Key key{plan.mesh.family(),
                  plan.mesh[Axis::tensor],
                  plan.mesh[Axis::pipeline],
                  plan.micro_batches % plan.mesh[Axis::pipeline] == 0,
                  std::min<std::int64_t>(plan.micro_batches / plan.mesh[Axis::pipeline], 2) * 2 + plan.micro_batches % 2,
                  has_shard_groups(plan),
                  plan.mesh[Axis::context] > 1 && may_exchange_heads(facts_, plan),
                  may_deal_experts(plan)};
    const auto known = choices_.find(key);
    if (known != choices_.end()) return known->second;
    LikeChoices all;
    std::array<std::vector<int>, plan_choice_count> of_rows;
    for (std::size_t i = 0; i < plan_choice_count; ++i) {
      of_rows[i] = values_of(plan_choices()[i], plan);
      // What no other choice makes possible.
      if (depends_on_others(plan_choices()[i].choice)) continue;
      std::erase_if(of_rows[i], [&](int value) {
        ChoiceValues alone{};
        alone[i] = value;
        return !is_possible(plan, alone);
      });
    }
    add_choices(plan, of_rows, plan_choice_count, {}, all);
    const auto divide_alike = [](const ChoiceValues& a, const ChoiceValues& b) {
      for (std::size_t i = 0; i < plan_choice_count; ++i) {
        if (plan_choices()[i].divides_layers && a[i] != b[i]) return false;
      }
      return true;
    };
    std::vector<LikeChoices> groups;
    for (const ChoiceValues& values : all) {
      if (groups.empty() || !divide_alike(groups.back().front(), values)) groups.emplace_back();
      groups.back().push_back(values);
    }
    return choices_.emplace(key, std::move(groups)).first->second;
  }

  /// How many there are, without making them.
  [[nodiscard]] std::int64_t count(const Plan& plan) const {
    const int axes = std::popcount(plan.mesh.family());
    const std::int64_t placements = options_.placement || !several_nodes_ ? 1 : std::max(1, axes);
    // Of micro-batches the choices depend on whether stages divide them, and on nothing else.
    std::array<std::int64_t, 2> alike{};
    std::array<std::int64_t, 2> example{};
    for (const std::int64_t count : micro_batches(plan)) {
      const std::size_t divided = count % plan.mesh[Axis::pipeline] == 0 ? 1 : 0;
      ++alike[divided];
      example[divided] = count;
    }
    std::int64_t all = 0;
    Plan each = plan;
    for (std::size_t divided = 0; divided < alike.size(); ++divided) {
      if (alike[divided] == 0) continue;
      each.micro_batches = example[divided];
      for (const LikeChoices& group : choices(each)) all += alike[divided] * static_cast<std::int64_t>(group.size());
    }
    return placements * all;
  }

  /// The values of a choice that a plan of such a mesh may have, the simplest first. One that was asked for is among them,
  /// possible or not: the plan then has a limit.
  [[nodiscard]] std::vector<int> values_of(const PlanChoiceRow& row, const Plan& plan) const {
    if (!row.matters(plan.mesh)) return {0};
    if (const std::optional<int>& chosen = options_.chosen[row.choice]) {
      const bool is_allowed = row.choice != PlanChoice::zero || allows_zero_stage(options_, plan.mesh.family(), *chosen);
      return is_allowed ? std::vector<int>{*chosen} : std::vector<int>{};
    }
    // What stays gathered is ZeRO-2 in all but the time of its gathers: whoever wants it asks for it.
    if ((row.needs_host && !options_.offloads) || !row.is_searched) return {0};
    if (row.choice == PlanChoice::shard_group) {
      return admitted(row, has_shard_groups(plan) ? std::vector<int>{0, devices_per_node_} : std::vector<int>{0});
    }
    std::vector<int> values;
    for (int value = 0; value <= row.last; ++value) {
      if (row.choice == PlanChoice::zero && !allows_zero_stage(options_, plan.mesh.family(), value)) continue;
      values.push_back(value);
    }
    return admitted(row, std::move(values));
  }

  /// Whether values of a choice may be possible with others than the first values of all other choices: what ZeRO shards,
  /// and experts that need sequence parallelism.
  [[nodiscard]] static bool depends_on_others(PlanChoice choice) {
    return choice == PlanChoice::shard_group || choice == PlanChoice::reshard || choice == PlanChoice::experts;
  }

  /// Whether the values of open choices are possible together.
  [[nodiscard]] bool is_possible(const Plan& plan, const ChoiceValues& values) const {
    Plan chosen = plan;
    set_choices(chosen, values);
    for (std::size_t i = 0; i < plan_choice_count; ++i) {
      const PlanChoiceRow& row = plan_choices()[i];
      const bool is_open = !options_.chosen[row.choice];
      // A group that was asked for says nothing of a plan without shards.
      if (row.choice == PlanChoice::shard_group && !is_open && values[i] > 0 && chosen.zero_stage == 0 &&
          !options_.chosen[PlanChoice::zero])
        return false;
      if (is_open && values[i] > 0 && row.possible != nullptr && !row.possible(facts_, chosen, values[i])) return false;
    }
    return true;
  }

 private:
  /// Those that the software can run; all where it can run none, which was asked for in other words then.
  [[nodiscard]] std::vector<int> admitted(const PlanChoiceRow& row, std::vector<int> values) const {
    const std::optional<std::vector<int>>& known = options_.admitted[static_cast<std::size_t>(row.choice)];
    if (!known) return values;
    std::vector<int> left;
    for (const int value : values) {
      if (std::find(known->begin(), known->end(), value) != known->end()) left.push_back(value);
    }
    return left.empty() ? values : left;
  }
  /// Whether a tensor split may leave experts whole, given sequence parallelism.
  [[nodiscard]] bool may_deal_experts(Plan plan) const {
    plan.sequence_parallel = true;
    return plan.mesh[Axis::tensor] > 1 && ddl::may_deal_experts(facts_, plan);
  }
  /// Whether ZeRO may shard in groups as large as a node.
  [[nodiscard]] bool has_shard_groups(const Plan& plan) const {
    const int data = plan.mesh[Axis::data];
    return devices_per_node_ > 1 && devices_per_node_ <= most_shard_group && devices_per_node_ < data &&
           data % devices_per_node_ == 0;
  }
  /// Every possible combination of the first `rows` choices, the last of them outermost.
  void add_choices(const Plan& plan, const std::array<std::vector<int>, plan_choice_count>& of_rows, std::size_t rows,
                   ChoiceValues values, LikeChoices& choices) const {
    if (rows == 0) {
      if (is_possible(plan, values)) choices.push_back(values);
      return;
    }
    for (const int value : of_rows[rows - 1]) {
      values[rows - 1] = value;
      add_choices(plan, of_rows, rows - 1, values, choices);
    }
  }
  /// What choices depend on: the family, the degrees that some of them need to divide something, whether those divide the
  /// micro-batches, whether these are enough and even, whether there are shard groups, and whether heads can be exchanged.
  using Key = std::tuple<Family, int, int, bool, std::int64_t, bool, bool, bool>;
  const SearchOptions& options_;
  const ModelFacts& facts_;
  int devices_per_node_;
  bool several_nodes_;
  mutable std::map<std::int64_t, std::vector<std::int64_t>> micro_batches_;
  mutable std::map<Key, std::vector<LikeChoices>> choices_;
};

/// How simple a plan is, the simplest first. No two plans of a search are alike in it.
using Simplicity = std::array<std::int64_t, plan_choice_count + mesh_dimensions + 3>;
Simplicity simplicity_of(const Plan& plan) {
  Simplicity simplicity{};
  std::size_t next = 0;
  simplicity[next++] = std::popcount(plan.mesh.family());
  for (std::size_t i = plan_choice_count; i > 0; --i) simplicity[next++] = plan_choices()[i - 1].get(plan);
  simplicity[next++] = plan.micro_batches;
  // A plan of fewer stages is the simpler one, then one that divides weights less. Data's degree is what the others leave.
  const Mesh::Degrees& degrees = plan.mesh.degrees();
  constexpr std::size_t stages = first_dimension_of(Axis::pipeline), replicas = first_dimension_of(Axis::data);
  simplicity[next++] = degrees[stages];
  for (std::size_t d = 0; d < mesh_dimensions; ++d) {
    if (d != stages && d != replicas) simplicity[next++] = degrees[d];
  }
  std::int64_t& placement = simplicity[next];
  for (const Axis axis : plan.placement)
    placement = placement * static_cast<std::int64_t>(axis_count) + static_cast<int>(axis);
  return simplicity;
}

/// Times that are sums of the same parts in another order are the same.
double rounded(double value) {
  constexpr double digits = 1LL << 32;
  int exponent = 0;
  const double mantissa = std::frexp(value, &exponent);
  return std::ldexp(std::round(mantissa * digits) / digits, exponent);
}

/// What plans are ranked by, the best first.
struct Rank {
  Verdict verdict = Verdict::fits;
  double first = 0, second = 0;
  Simplicity simplicity{};
  friend auto operator<=>(const Rank&, const Rank&) = default;
};
Rank rank_of(const RankedPlan& ranked, Objective objective) {
  // All plans of one search use the same devices, so the cheapest is the fastest.
  const double time = rounded(ranked.iteration.value());
  if (objective == Objective::memory)
    return {ranked.verdict, rounded(ranked.memory.value()), time, simplicity_of(ranked.plan)};
  return {ranked.verdict, time, 0.0, simplicity_of(ranked.plan)};
}

bool preferred(const RankedPlan& a, const RankedPlan& b, Objective objective) {
  if (a.verdict != b.verdict) return a.verdict < b.verdict;
  const bool memory = objective == Objective::memory;
  const double first_a = rounded((memory ? a.memory.value() : a.iteration.value()));
  const double first_b = rounded((memory ? b.memory.value() : b.iteration.value()));
  if (first_a != first_b) return first_a < first_b;
  return rank_of(a, objective) < rank_of(b, objective);
}

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
        space_(options, estimator.job().facts, estimator.job().machine.devices_per_node()),
        may_break_limits_(options.micro_batches.has_value() || asks_for_choices(options)) {}

  [[nodiscard]] const VariantSpace& space() const { return space_; }

  /// Of the plans that were kept the first that are wanted, ranked.
  void keep_first() {
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
    last_kept_ = ranked(kept.back());
  }

  /// Rules out what can be ruled out without pricing.
  Candidates candidates(Family family, const std::vector<Plan>& degrees, std::int64_t all) {
    Candidates candidates;
    candidates.family = family;
    nearest_.reset();
    for (const Plan& plan : degrees) {
      // Of degrees with many divisors there are millions: whoever waits sees how far it is.
      constexpr std::int64_t often = 1024;
      if (options_.go_on && looked_at_++ % often == 0 && !options_.go_on(looked_at_, all)) {
        result_.stopped = true;
        break;
      }
      const Limits limits = estimator_.limits(plan);
      if (!limits.empty()) {
        result_.considered += space_.count(plan);
        reject(plan, limits);
      } else {
        candidates.plans.push_back({lower_bound(plan).value(), &plan});
      }
    }
    candidates.nearest = nearest_;
    std::stable_sort(candidates.plans.begin(), candidates.plans.end(), [](const auto& a, const auto& b) {
      if (rounded(a.bound) != rounded(b.bound)) return a.bound < b.bound;
      return simplicity_of(*a.plan) < simplicity_of(*b.plan);
    });
    return candidates;
  }

  /// Of `all` plans; whether to go on.
  bool run(const Candidates& candidates, std::int64_t all) {
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
      if (const Plan* plan = smallest(candidates.plans)) save_most(*plan);
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

  /// Whether `a` is ranked before `b`.
  [[nodiscard]] bool is_better(const Estimate& a, const Estimate& b) const {
    return preferred(ranked(a), ranked(b), options_.objective);
  }

  /// The simplest plan with the same degrees that takes no longer than the tie allows, and needs no more than fits.
  [[nodiscard]] Estimate simplified(const Estimate& best) const {
    const Seconds most = best.time.iteration() * (1 + options_.tie);
    Estimate simple = best;
    const auto takes = [&](const Plan& plan) {
      if (!estimator_.limits(plan).empty()) return false;
      Estimate estimate = estimator_.estimate(plan);
      if (!estimate.feasible() || estimate.time.iteration() > most || verdict_for(estimate) > verdict_for(best))
        return false;
      simple = std::move(estimate);
      return true;
    };
    for (std::size_t i = plan_choice_count; i > 0; --i) {
      const PlanChoiceRow& row = plan_choices()[i - 1];
      for (const int value : space_.values_of(row, simple.plan)) {
        if (value >= row.get(simple.plan)) break;
        Plan plan = simple.plan;
        row.set(plan, value);
        if (space_.is_possible(plan, choices_of(plan)) && takes(plan)) break;
      }
    }
    for (const std::int64_t count : space_.micro_batches(simple.plan)) {
      if (count >= simple.plan.micro_batches) break;
      Plan plan = simple.plan;
      plan.micro_batches = count;
      if (space_.is_possible(plan, choices_of(plan)) && takes(plan)) break;
    }
    const Placement usual = options_.placement.value_or(Plan{}.placement);
    if (simple.plan.placement != usual) {
      Plan plan = simple.plan;
      plan.placement = usual;
      static_cast<void>(takes(plan));
    }
    return simple;
  }

  /// Puts the simplest plan first where several tie with the fastest of those that are left: each place takes the simplest
  /// variant of a family, and of the families the one that divides along the fewest axes. `best` is ranked.
  void settle_ties(std::vector<Estimate>& best, std::size_t places) const {
    struct Tied {
      Estimate simple;
      Seconds fastest;  ///< of its family
    };
    std::vector<Tied> all;
    for (std::size_t i = 0; i < best.size(); ++i)
      all.push_back({i < places ? simplified(best[i]) : best[i], best[i].time.iteration()});
    for (std::size_t place = 0; place < std::min(places, all.size()); ++place) {
      const Seconds most = all[place].fastest * (1 + options_.tie);
      std::size_t simplest = place;
      for (std::size_t i = place + 1; i < all.size(); ++i) {
        const Estimate& other = all[i].simple;
        if (verdict_for(other) != verdict_for(all[place].simple) || all[i].fastest > most) break;
        const auto axes = [&](std::size_t at) { return std::popcount(all[at].simple.plan.mesh.family()); };
        if (other.time.iteration() <= most && axes(i) < axes(simplest)) simplest = i;
      }
      const auto first = all.begin() + static_cast<std::ptrdiff_t>(place);
      const auto chosen = all.begin() + static_cast<std::ptrdiff_t>(simplest);
      std::rotate(first, chosen, chosen + 1);
    }
    for (std::size_t i = 0; i < best.size(); ++i) best[i] = std::move(all[i].simple);
  }

 private:
  /// What plans are ranked by before the objective.
  [[nodiscard]] Verdict verdict_for(const Estimate& estimate) const {
    return options_.allow_risk ? Verdict::fits : estimate.verdict;
  }
  [[nodiscard]] RankedPlan ranked(const Estimate& estimate) const {
    return {estimate.plan, estimate.time.iteration(), estimate.memory.total(), verdict_for(estimate)};
  }
  [[nodiscard]] static ChoiceValues choices_of(const Plan& plan) {
    ChoiceValues values{};
    for (std::size_t i = 0; i < plan_choice_count; ++i) values[i] = plan_choices()[i].get(plan);
    return values;
  }

  [[nodiscard]] SearchResult counts() const {
    SearchResult counts;
    counts.considered = result_.considered;
    counts.pruned = result_.pruned;
    counts.priced = result_.priced;
    counts.feasible = result_.feasible;
    return counts;
  }
  void restore(const SearchResult& counts) {
    result_.considered = counts.considered;
    result_.pruned = counts.pruned;
    result_.priced = counts.priced;
    result_.feasible = counts.feasible;
  }

  void try_all(const Candidates& candidates, std::int64_t all) {
    best_.reset();
    nearest_ = candidates.nearest;
    outdone_ = has_risk_ = false;
    for (const Candidates::Candidate& candidate : candidates.plans) {
      if (options_.go_on && !options_.go_on(result_.considered, all)) {
        result_.stopped = true;
        break;
      }
      const std::int64_t count = space_.count(*candidate.plan);
      result_.considered += count;
      if (beaten(Seconds(candidate.bound), *candidate.plan)) {
        result_.pruned += count;
        continue;
      }
      // One plan that cannot fit says as much as all of them.
      const bool cannot_fit = least_memory(*candidate.plan) > estimator_.job().machine.device.memory;
      if (cannot_fit && nearest_ && !options_.all) continue;
      try_variants(*candidate.plan);
    }
  }

  /// Whether plans are known that are better than these are at best: of this family, or as many of other families as anybody
  /// wants to see. `plan`: the simplest of them.
  [[nodiscard]] bool beaten(Seconds bound, const Plan& plan) {
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

  /// A lower bound of the memory of all plans with these degrees, whatever may lie in the memory of the host.
  [[nodiscard]] Bytes least_memory(Plan plan) const {
    const PlanChoiceRow& row = row_of(PlanChoice::offload);
    row.set(plan, space_.values_of(row, plan).back());
    return estimator_.memory_lower_bound(plan);
  }

  /// Of the plan with whichever micro-batches suit it best.
  [[nodiscard]] Seconds lower_bound(Plan plan) const {
    Seconds least(std::numeric_limits<double>::max());
    for (const std::int64_t micro_batches : space_.micro_batches(plan)) {
      plan.micro_batches = micro_batches;
      least = min(least, estimator_.lower_bound(plan));
      if (plan.mesh[Axis::pipeline] == 1) break;  // without a pipeline whole batches are the fastest
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
      for (const PlanChoiceRow& row : plan_choices()) {
        const std::vector<int> values = space_.values_of(row, plan);
        if (is_smaller_at_most(row.trade) && !values.empty()) row.set(plan, values.back());
      }
      const Bytes needed = estimator_.memory(plan).total();
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
    for (const LikeChoices& choices : space_.choices(plan)) {
      for (const ChoiceValues& values : choices) {
        if (never_saves(values, choices.front())) continue;
        set_choices(plan, values);
        note(estimator_.estimate(plan));
      }
    }
  }

  void note(const Estimate& estimate) {
    if (estimate.feasible() && estimate.verdict <= allowed_) {
      note(ranked(estimate));
    } else if (!nearest_ || miss(estimate) < miss(*nearest_)) {
      nearest_ = estimate;
    }
  }

  void note(const RankedPlan& feasible) {
    ++result_.feasible;
    if (options_.all) {
      result_.ranked.push_back(feasible);
      keep(feasible);
    }
    if (best_ && !preferred(feasible, *best_, options_.objective)) return;
    best_ = feasible;
    best_rank_ = rank_of(feasible, options_.objective);
  }

  /// Takes a plan that may be among the first, while its prices are at hand.
  void keep(const RankedPlan& feasible) {
    const auto wanted = static_cast<std::size_t>(options_.top);
    if (wanted == 0) return;
    if (last_kept_ && !preferred(feasible, *last_kept_, options_.objective)) return;
    result_.first.push_back(estimator_.estimate(feasible.plan));
    if (result_.first.size() >= 2 * wanted + 1000) keep_first();
  }

  void try_variants(Plan plan) {
    const std::vector<Placement> placements = space_.placements(plan);
    const bool by_time = !options_.all && options_.objective != Objective::memory;
    // Parts of a batch, or of a message, may take less together than the whole where what is measured prices them, and
    // where the whole is larger than the device.
    const bool wholes_are_faster = by_time && plan.mesh[Axis::pipeline] == 1 && !estimator_.may_page(plan) &&
                                   estimator_.job().kernels.measured() == nullptr &&
                                   !estimator_.job().kernels.has_formulas() &&
                                   estimator_.job().coefficients.exchanges.empty();
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
      const bool all_beaten = needless || (by_time && beaten(estimator_.lower_bound(plan), plan));
      misfits_ = 0;
      for (const Placement& placement : placements) {
        plan.placement = placement;
        // Bounds that cost more to work out are closer.
        const bool placed_beaten = all_beaten || (by_time && beaten(estimator_.placed_lower_bound(asked(plan)), plan));
        for (const LikeChoices& choices : groups) {
          set_choices(plan, choices.front());
          if (placed_beaten || (by_time && (beaten(estimator_.uncut_time(plan), simplest(plan)) ||
                                            beaten(estimator_.layers_time(plan), simplest(plan))))) {
            result_.pruned += static_cast<std::int64_t>(choices.size());
            continue;
          }
          try_choices(plan, choices);
        }
        plan = simplest(plan);
      }
      if (misfits_ == 0) settled.push_back(micro_batches);
      // The stages of a pipeline are others with every number of micro-batches.
      if (misfits_ > 0 && plan.mesh[Axis::pipeline] == 1 && !options_.all) least_ = least_of(plan, groups);
    }
  }

  /// The plan with the shard group that was asked for.
  [[nodiscard]] Plan asked(Plan plan) const {
    plan.shard_group = options_.chosen[PlanChoice::shard_group].value_or(0);
    return plan;
  }

  /// The plan with the first value of each choice.
  [[nodiscard]] static Plan simplest(Plan plan) {
    set_choices(plan, {});
    return plan;
  }

  /// Whether what was asked for is impossible with these micro-batches; if so, the plan is rejected. Of all numbers only one
  /// that was asked for may be larger than the samples are many.
  bool is_ruled_out(Plan plan, const ChoiceValues& values) {
    if (!may_break_limits_) return false;
    set_choices(plan, values);
    const Limits limits = estimator_.limits(plan);
    if (limits.empty()) return false;
    reject(plan, limits);
    return true;
  }
  [[nodiscard]] static bool asks_for_choices(const SearchOptions& options) {
    return std::any_of(plan_choices().begin(), plan_choices().end(), [&](const PlanChoiceRow& row) {
      return row.possible != nullptr && options.chosen[row.choice].value_or(0) > 0;
    });
  }

  /// The least memory that any saving reaches with micro-batches of some size.
  struct Least {
    double samples = 0;
    Bytes parameters{}, of_samples{};
  };
  [[nodiscard]] Least least_of(Plan plan, const std::vector<LikeChoices>& groups) const {
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

  [[nodiscard]] static bool is_smaller_at_most(Trade trade) {
    return trade == Trade::open || trade == Trade::slower_but_smaller;
  }
  /// Whether the simplest value of some choice needs no more memory.
  [[nodiscard]] static bool never_saves(const ChoiceValues& values, const ChoiceValues& simplest) {
    for (std::size_t i = 0; i < plan_choice_count; ++i) {
      if (!is_smaller_at_most(plan_choices()[i].trade) && values[i] > simplest[i]) return true;
    }
    return false;
  }

  /// Whether the simplest value of some choice is as good in every respect.
  [[nodiscard]] static bool is_never_better(const ChoiceValues& values, const ChoiceValues& simplest) {
    for (std::size_t i = 0; i < plan_choice_count; ++i) {
      if (values[i] == plan_choices()[i].never_better && values[i] > simplest[i]) return true;
    }
    return false;
  }

  void try_choices(Plan plan, const LikeChoices& choices) {
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
    for (const ChoiceValues& values : choices) {
      if (!options_.all &&
          (is_never_better(values, choices.front()) || (by_time && (is_needless(values) || is_too_large(values))))) {
        ++result_.pruned;
        continue;
      }
      set_choices(plan, values);
      const Seconds iteration = estimator_.iteration(plan);
      if (by_time && beaten(iteration, plan)) {
        ++result_.pruned;
        settled.push_back(values);
        continue;
      }
      ++result_.priced;
      const MemoryBreakdown& breakdown = estimator_.memory(plan);
      if (const auto limit = estimator_.host_limit(plan, breakdown)) {
        Limits limits;
        limits.add(*limit);
        reject(plan, limits);
        continue;
      }
      const Bytes memory = breakdown.total();
      const Bytes available = estimator_.job().machine.device.memory;
      const Verdict verdict = verdict_of(breakdown, available);
      if (verdict <= allowed_) {
        settled.push_back(values);
        note(RankedPlan{plan, iteration, memory, options_.allow_risk ? Verdict::fits : verdict});
        continue;
      }
      has_risk_ = has_risk_ || verdict == Verdict::at_risk;
      ++misfits_;
      too_large.push_back(values);
      // Memory alone is the mildest kind of trouble.
      if (!nearest_ || std::tuple(1, memory / available) < miss(*nearest_)) note(estimator_.estimate(plan));
    }
  }

  const Estimator& estimator_;
  const SearchOptions& options_;
  SearchResult& result_;
  VariantSpace space_;
  std::optional<RankedPlan> best_;
  Rank best_rank_;
  std::optional<Estimate> nearest_;
  Verdict allowed_ = Verdict::at_risk;  ///< the worst that a plan may have at the moment
  bool has_risk_ = false;               ///< some plan was left out that is at risk
  bool outdone_ = false;                ///< by plans of other families
  std::int64_t misfits_ = 0;            ///< plans without enough memory
  std::int64_t looked_at_ = 0;          ///< degrees
  bool may_break_limits_;               ///< what was asked for may be impossible
  Least least_;
  std::optional<RankedPlan> last_kept_;
  std::vector<Rank> leaders_;  ///< the best of each family so far, best first
};

}  // namespace

std::string_view to_string(Objective objective) { return objective_names[static_cast<std::size_t>(objective)]; }
std::optional<Objective> parse_objective(std::string_view text) {
  const auto found = std::find(objective_names.begin(), objective_names.end(), text);
  if (found == objective_names.end()) return std::nullopt;
  return static_cast<Objective>(found - objective_names.begin());
}

namespace {

SearchResult search_once(const Estimator& estimator, const SearchOptions& options) {
  SearchResult result;
  const Degrees degrees(options, estimator.job().facts);
  FamilySearch families(estimator, options, result);
  std::vector<Candidates> candidates;
  std::int64_t all_degrees = 0;
  for (const auto& [family, plans] : degrees.by_family()) all_degrees += static_cast<std::int64_t>(plans.size());
  for (const auto& [family, plans] : degrees.by_family()) {
    candidates.push_back(families.candidates(family, plans, all_degrees));
    if (result.stopped) break;
  }
  // Simple families first, which are few plans, and of those the promising ones: the others are measured against good plans.
  std::stable_sort(candidates.begin(), candidates.end(), [](const Candidates& a, const Candidates& b) {
    const auto first = [](const Candidates& c) {
      return std::pair(std::popcount(c.family), c.plans.empty() ? 0.0 : c.plans.front().bound);
    };
    return first(a) < first(b);
  });
  std::int64_t all = 0;
  if (options.go_on) {
    for (const auto& [family, plans] : degrees.by_family()) {
      for (const Plan& plan : plans) all += families.space().count(plan);
    }
  }
  for (const Candidates& each : candidates) {
    if (result.stopped || !families.run(each, all)) break;
  }
  families.keep_first();
  std::stable_sort(result.best.begin(), result.best.end(),
                   [&](const Estimate& a, const Estimate& b) { return families.is_better(a, b); });
  if (options.tie > 0 && !options.all && options.objective != Objective::memory) {
    const auto wanted = options.top > 0 ? static_cast<std::size_t>(options.top) : result.best.size();
    families.settle_ties(result.best, wanted);
  }
  std::stable_sort(result.ranked.begin(), result.ranked.end(),
                   [&](const RankedPlan& a, const RankedPlan& b) { return preferred(a, b, options.objective); });
  return result;
}

}  // namespace

SearchResult search(const Estimator& estimator, const SearchOptions& options) {
  SearchResult result = search_once(estimator, options);
  const auto is_open = [&](const PlanChoiceRow& row) {
    const auto& admitted = options.admitted[static_cast<std::size_t>(row.choice)];
    return row.needs_host && !options.chosen[row.choice] && (!admitted || admitted->size() > 1);
  };
  const bool may_offload = !options.offloads && estimator.job().machine.host && !estimator.job().assumptions.memory_reuse &&
                           std::any_of(plan_choices().begin(), plan_choices().end(), is_open);
  if (!may_offload || !result.best.empty() || result.stopped) return result;
  SearchOptions with_host = options;
  with_host.offloads = true;
  SearchResult offloaded = search_once(estimator, with_host);
  return offloaded.best.empty() ? result : offloaded;
}

}  // namespace ddl
