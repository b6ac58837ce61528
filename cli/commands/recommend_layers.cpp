#include <algorithm>
#include <vector>

#include "cli/commands/recommendation.hpp"
#include "core/find.hpp"
#include "estimator/choices/plan_choice.hpp"
#include "estimator/explain/explanation.hpp"
#include "estimator/schedules/schedule.hpp"
#include "estimator/search/layer_search.hpp"
#include "estimator/search/recompute_search.hpp"
#include "estimator/search/search.hpp"
#include "estimator/search/table_search.hpp"
#include "estimator/search/zero_search.hpp"

namespace ddl {
namespace {

/// Returns whether plans with several layouts support the choices of a plan.
bool has_layers(const Plan& plan) {
  return plan.shard_group == 0 && plan.secondary_shards <= 1 && plan.offload == Offload::none && !plan.offload_activations &&
         !plan.whole_experts;
}

/// ZeRO shards among all ranks, if the user allows it: plans with several layouts have no shard groups.
void leave_out_groups(Plan& plan, const SearchOptions& options) {
  if (!options.chosen[PlanChoice::shard_group]) plan.shard_group = 0;
  if (!options.chosen[PlanChoice::secondary_shards]) plan.secondary_shards = 0;
}

/// Returns the plans whose choices are tried with several layouts: for the most promising numbers of stages, the fastest
/// plan, and the same plan with as few choices as the user allows.
std::vector<Plan> alike_plans(const RecommendAnswer& answer, const SearchOptions& options) {
  std::vector<Plan> plans;
  constexpr std::size_t most_numbers = 3;
  std::vector<int> known;
  for (const Estimate& each : answer.result.best) {
    if (known.size() == most_numbers) break;
    Plan plan = each.plan;
    leave_out_groups(plan, options);
    const int stages = plan.mesh[Axis::pipeline];
    if (!has_layers(plan) || contains(known, stages)) continue;
    known.push_back(stages);
    // Equal stages of equal blocks are not possible if layouts differ.
    if (plan.virtual_stages > 1 || order_of(plan.schedule).course != Course::around) {
      plan.virtual_stages = 1;
      plan.schedule = Schedule::one_forward_one_backward;
    }
    // A stage runs on the same ranks with every layout.
    std::ranges::stable_partition(plan.placement, [](Axis axis) { return axis != Axis::pipeline; });
    plans.push_back(plan);
    if (!options.micro_batches && stages == 1) plan.micro_batches = 1;
    for (const PlanChoiceRow& row : plan_choices()) row.set(plan, options.chosen[row.choice].value_or(0));
    plans.push_back(plan);
  }
  return plans;
}

void keep_faster(std::optional<Estimate> found, const SearchOptions& options, RecommendAnswer& answer) {
  if (!found || !found->feasible() || (found->verdict != Verdict::fits && !options.allow_risk)) return;
  if (options.only_startable && !options.is_startable(*found)) return;
  if (answer.layered && found->time.step_time() >= answer.layered->time.step_time()) return;
  answer.layered = std::move(found);
}

/// Adds by how much another choice of recomputed blocks may be faster.
void add_gap(const SearchOptions& options, RecommendAnswer& answer) {
  const Plan& plan = answer.layered->plan;
  if (plan.recompute_segments.empty()) return;
  const Verdict allowed = options.allow_risk ? Verdict::at_risk : Verdict::fits;
  const std::optional<RecomputedPlan> least = least_recomputation(*answer.estimator, plan, allowed);
  if (!least) return;
  const Seconds longer = answer.layered->time.step_time() - answer.estimator->step_time(least->plan);
  answer.recompute_gap = max(Seconds{}, least->gap + longer);
}

/// Chooses recomputed blocks for the best plan of each strategy that saves memory.
void add_recomputed_apart(RecommendAnswer& answer, const SearchOptions& options) {
  const Estimator& estimator = *answer.estimator;
  if (options.only_startable || !may_choose_recomputed_blocks(options, estimator.job())) return;
  constexpr std::size_t most_plans = 8;
  const std::vector<Estimate>& best = answer.result.best;
  for (std::size_t i = 0; i < std::min(best.size(), most_plans); ++i) {
    if (best[i].plan.recompute != Recompute::full && best[i].plan.zero_stage == 0) continue;
    const Verdict allowed = options.allow_risk ? Verdict::at_risk : Verdict::fits;
    const std::optional<RecomputedPlan> found = best_recomputation(estimator, options, best[i].plan, allowed);
    if (found) keep_faster(estimator.estimate(found->plan), options, answer);
  }
}

/// Chooses ZeRO stages for the best plans that shard or recompute, also without the recomputation.
void add_sharded_apart(RecommendAnswer& answer, const SearchOptions& options) {
  if (options.only_startable || options.chosen[PlanChoice::zero]) return;
  const Estimator& estimator = *answer.estimator;
  const Verdict allowed = options.allow_risk ? Verdict::at_risk : Verdict::fits;
  const auto add = [&](const Plan& plan) {
    if (const std::optional<Plan> found = best_sharding(estimator, options, plan, allowed))
      keep_faster(estimator.estimate(*found), options, answer);
  };
  std::vector<Plan> plans;
  constexpr std::size_t most_plans = 8;
  const std::vector<Estimate>& best = answer.result.best;
  for (std::size_t i = 0; i < std::min(best.size(), most_plans); ++i) plans.push_back(best[i].plan);
  if (answer.layered) plans.push_back(answer.layered->plan);
  for (Plan plan : plans) {
    leave_out_groups(plan, options);
    if (!has_layers(plan) || plan.mesh.replicas() <= 1) continue;
    if (plan.zero_stage == 0 && plan.recompute == Recompute::none) continue;
    add(plan);
    if (plan.recompute != Recompute::full || options.chosen[PlanChoice::recompute]) continue;
    plan.recompute = Recompute::none;
    plan.recompute_blocks = 0;
    plan.recompute_segments.clear();
    add(plan);
  }
}

/// Searches a placement of each embedding table, for the fastest plan with only data parallelism.
void add_tables_apart(RecommendAnswer& answer, const SearchOptions& options) {
  const auto is_data = [](const Estimate& each) {
    return each.plan.mesh.devices() == each.plan.mesh[Axis::data] && each.plan.zero_stage == 0 &&
           each.plan.offload == Offload::none;
  };
  const std::vector<Estimate>& best = answer.result.best;
  const auto fastest = std::ranges::find_if(best, is_data);
  if (fastest == best.end()) return;
  keep_faster(best_by_table(*answer.estimator, fastest->plan), options, answer);
}

}  // namespace

Option add_per_layer(const Command& command, bool& per_layer) {
  return command.add_switch("--per-layer", per_layer,
                            "also search plans whose layers have different strategies, such as data-parallel convolutions "
                            "and filter-parallel fully connected layers");
}

void add_layered_plan(RecommendAnswer& answer, const SearchOptions& options) {
  if (!answer.options.per_layer || answer.result.best.empty() || answer.result.stopped) return;
  SearchOptions layered = options;
  // `families` are those of which tools start plans with one layout. is_startable decides about plans with several layouts.
  if (options.only_startable && answer.options.plan.strategy.empty()) layered.families.clear();
  for (const Plan& plan : alike_plans(answer, options)) {
    answer.searched_layers = true;
    keep_faster(best_by_layer(*answer.estimator, layered, plan), options, answer);
  }
  add_recomputed_apart(answer, options);
  add_sharded_apart(answer, options);
  if (!options.chosen[PlanChoice::tables]) add_tables_apart(answer, options);
  if (!answer.layered) return;
  add_gap(options, answer);
  const Seconds fastest = answer.result.best.front().time.step_time();
  if (answer.layered->time.step_time() * (1 + usual_tie) >= fastest) return;
  answer.result.best.insert(answer.result.best.begin(), *answer.layered);
  if (answer.options.all) answer.result.first.insert(answer.result.first.begin(), *answer.layered);
}

}  // namespace ddl
