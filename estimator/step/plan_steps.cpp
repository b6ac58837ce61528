#include "estimator/step/plan_steps.hpp"

#include <algorithm>
#include <cstddef>
#include <deque>
#include <limits>
#include <utility>

#include "estimator/choices/plan_choice.hpp"
#include "estimator/layers/host_launches.hpp"
#include "estimator/layers/recomputed_layers.hpp"
#include "estimator/layers/stage_balance.hpp"
#include "estimator/memory/memory.hpp"
#include "estimator/schedules/schedule.hpp"
#include "estimator/step/step_of.hpp"
#include "estimator/strategies/pipeline.hpp"

namespace ddl {

const std::vector<int>& PlanSteps::virtual_stages_of(const Plan& plan) const {
  static const std::vector<int> one{1};
  const int stages = plan.mesh[Axis::pipeline];
  if (stages == 1 || job_.assumptions.slot_pipeline) return one;
  std::vector<int>& known =
      chunks_[{stages, plan.micro_batches % stages == 0, plan.first_stage_blocks, plan.last_stage_blocks}];
  if (known.empty()) {
    known = one;
    Plan alike = plan;
    alike.schedule = Schedule::one_forward_one_backward;
    for (int count = 2; count <= most_virtual_stages; ++count) {
      if (may_interleave(job_.facts, alike, count)) known.push_back(count);
    }
  }
  return known;
}

std::vector<int> PlanSteps::cut(const Plan& plan, const LayerCostTable& costs) const {
  const auto layers = static_cast<int>(job_.facts.model->layers.size());
  if (plan.mesh[Axis::pipeline] == 1) return {0, layers};
  if (const std::vector<int> blocks = blocks_of_stages(job_.facts, plan); !blocks.empty())
    return first_layers(*job_.facts.model, blocks);
  const StagePlaces& where = tables_.places_of(plan);
  const auto& levels = where.levels();
  if (job_.coefficients.software.equal_stages.value_or(false) && !where.equal_blocks().empty()) return where.equal_blocks();
  // The cuts of a plan do not depend on memory savings such as recomputation. Otherwise, a plan
  // that saves memory could be faster.
  Plan bare = plan;
  bare.zero_stage = 0;
  bare.recompute = Recompute::none;
  bare.recompute_segments.clear();
  bare.zero_segments.clear();
  bare.offload = Offload::none;
  bare.offload_activations = false;
  bare.schedule = Schedule::one_forward_one_backward;
  bare.virtual_stages = 1;
  const ParameterBytes each = parameter_bytes(job_.facts, bare, job_.assumptions);
  const double trained = job_.facts.parameters > 0 ? job_.facts.trained_parameters / job_.facts.parameters : 1.0;
  const StageWeights weights{launch_overhead(job_), each.weight + (each.gradient + each.optimizer) * trained,
                             static_cast<double>(plan.micro_batches)};
  const Bytes available = job_.machine.device.memory;
  struct Choice {
    bool fits = false;
    double cost = 0;  ///< time of the plan if it fits, otherwise its memory
    std::vector<int> firsts;
    const std::vector<int>* level = nullptr;
    StageBalance* balance = nullptr;
  };
  std::optional<Choice> best;
  Seconds least_longest(std::numeric_limits<double>::infinity());
  std::deque<std::vector<StageLoad>> loads;  // the loads of each tried level
  std::deque<StageBalance> balances;
  const auto layers_at = [](const std::vector<int>& level, const StageCuts& cuts) {
    std::vector<int> firsts;
    for (const int place : cuts.places) firsts.push_back(level[static_cast<std::size_t>(place)]);
    return firsts;
  };
  for (const std::vector<int>& level : levels) {
    std::vector<StageLoad>& before = loads.emplace_back();
    for (const int place : level) before.push_back(costs.load_before(place));
    StageBalance& balance = balances.emplace_back(before, weights, plan.mesh[Axis::pipeline]);
    // Further places, where more elements cross, are useful only if they shorten the longest stage.
    if (balance.shortest() >= least_longest * (1 - cut_rounding)) continue;
    least_longest = balance.shortest();
    StageCuts cuts = balance.light_first();
    if (levels.size() == 1 || cuts.fullest > available) cuts = balance.least_full();
    Choice choice{cuts.fullest <= available, cuts.fullest.value(), {}, &level, &balance};
    choice.firsts = layers_at(level, cuts);
    if (levels.size() > 1 && choice.fits) {
      const Staged own = work_out(bare, costs, choice.firsts);
      if (best && best->fits && own.step_time().value() >= best->cost) continue;
      Timing<double> timing = own.timing;
      finish(own.step, updates_of(job_, bare, costs, choice.firsts), own.step.origin, timing);
      choice.cost = timing.step_time();
    }
    if (!best || std::tuple(!choice.fits, choice.cost) < std::tuple(!best->fits, best->cost)) best = std::move(choice);
  }
  if (!best) return {};
  if (levels.size() == 1 || !best->fits) return best->firsts;
  return layers_at(*best->level, best->balance->least_full());
}

const std::vector<int>& PlanSteps::stages(const Plan& plan) const {
  const SplitTables::Split& split = tables_.split(plan);
  Known& own = known(split);
  if (!own.cuts) own.cuts = cut(plan, *split.costs);
  return *own.cuts;
}

PlanSteps::Staged PlanSteps::work_out(const Plan& plan, const LayerCostTable& costs, const std::vector<int>& firsts) const {
  Staged result{step_of(memories_, plan, costs, firsts), {}};
  result.timing = run(result.step, result.step.origin);
  return result;
}

const PlanSteps::Staged& PlanSteps::staged(const Plan& plan) const {
  const std::vector<int>& firsts = stages(plan);
  const SplitTables::Split& split = tables_.split(plan);
  auto& staged = known(split).staged;
  // GPipe takes as long as 1F1B, unless 1F1B hides exchanges.
  const bool alike =
      !order_of(plan.schedule).fills_bubbles && !job_.coefficients.software.overlaps_expert_exchanges.value_or(false);
  const Schedule order = alike ? Schedule::one_forward_one_backward : plan.schedule;
  const std::tuple key(plan.recompute, plan.recompute_blocks, plan.virtual_stages, order, plan.offload_activations,
                       gathers_weights(plan), gathers_weights(plan) && plan.reshard, plan.recompute_segments,
                       plan.zero_segments);
  const auto found = staged.find(key);
  if (found != staged.end()) return found->second;
  if (!waits_alike(job_, plan) || !plan.zero_segments.empty())
    return staged.emplace(key, work_out(plan, *split.costs, firsts)).first->second;
  const std::int64_t blocks = plan.recompute == Recompute::full ? most_recomputed_blocks(plan) : 0;
  const Staged*& like = known(split).in_chunks[{plan.recompute, blocks, gathers_weights(plan),
                                                gathers_weights(plan) && plan.reshard, plan.recompute_segments}];
  if (like == nullptr) return *(like = &staged.emplace(key, work_out(plan, *split.costs, firsts)).first->second);
  Staged own{in_chunks(job_, plan, like->step), {}};
  own.timing = run(own.step, own.step.origin);
  return staged.emplace(key, std::move(own)).first->second;
}

const Updates& PlanSteps::updates(const Plan& plan) const {
  const std::vector<int>& firsts = stages(plan);
  // The gradients of each virtual stage are separate messages.
  const std::tuple key(plan.virtual_stages, plan.zero_stage, plan.shard_group, plan.reshard, plan.secondary_shards,
                       plan.offload, order_of(plan.schedule).keeps_two_parts, plan.zero_segments);
  const SplitTables::Split& split = tables_.split(plan);
  auto& updates = known(split).updates;
  const auto known = updates.find(key);
  if (known != updates.end()) return known->second;
  return updates.emplace(key, updates_of(job_, plan, *split.costs, firsts)).first->second;
}

Timing<double> PlanSteps::timing(const Plan& plan) const {
  const Updates& updates = this->updates(plan);
  const Staged& staged = this->staged(plan);
  Timing<double> timing = staged.timing;
  finish(staged.step, updates, staged.step.origin, timing);
  return timing;
}

StepTemplate PlanSteps::step_template(const Plan& plan) const {
  const std::vector<int>& firsts = stages(plan);
  const LayerCostTable costs = tables_.costs_with_slopes(plan);
  return {step_of(memories_, plan, costs, firsts), updates_of(job_, plan, costs, firsts)};
}

int PlanSteps::most_blocks_again(const Plan& plan) const {
  const std::vector<int>& firsts = stages(plan);
  Plan all = plan;
  all.recompute_blocks = 1;
  const std::int64_t each = most_recomputed_blocks(all);
  const SplitTables::Split& split = tables_.split(plan);
  std::optional<std::int64_t>& most = known(split).most_blocks;
  if (!most) {
    most = 0;
    for (std::size_t stage = 0; stage + 1 < firsts.size(); ++stage)
      most = std::max(*most, blocks_of(*job_.facts.model, split.costs->kinds(), firsts[stage], firsts[stage + 1]));
  }
  return static_cast<int>(std::clamp<std::int64_t>((*most + each - 1) / each - 1, 0, most_recompute_blocks));
}

}  // namespace ddl
