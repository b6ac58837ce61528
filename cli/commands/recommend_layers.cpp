#include <algorithm>

#include "cli/commands/recommendation.hpp"
#include "estimator/choices/plan_choice.hpp"
#include "estimator/explain/explanation.hpp"
#include "estimator/search/layer_search.hpp"
#include "estimator/search/search.hpp"

namespace ddl {
namespace {

/// Returns whether plans with several layouts support the choices and axes of a plan.
bool has_one_stage_of_layers(const Plan& plan) {
  const Mesh& mesh = plan.mesh;
  return mesh[Axis::pipeline] == 1 && mesh[Axis::context] == 1 && mesh[Axis::expert] == 1 && plan.shard_group == 0 &&
         plan.secondary_shards <= 1 && plan.offload == Offload::none && !plan.offload_activations && !plan.sequence_parallel;
}

}  // namespace

Option add_per_layer(const Command& command, bool& per_layer) {
  return command.add_switch("--per-layer", per_layer,
                            "search also for a plan that lays out layers differently, such as data parallel convolutions "
                            "and filter parallel fully connected layers");
}

void add_layered_plan(RecommendAnswer& answer, const SearchOptions& options) {
  if (!answer.options.per_layer || answer.result.best.empty() || answer.result.stopped) return;
  const std::vector<Estimate>& best = answer.result.best;
  const auto alike =
      std::find_if(best.begin(), best.end(), [](const Estimate& each) { return has_one_stage_of_layers(each.plan); });
  if (alike == best.end()) return;
  Plan simple = alike->plan;
  if (!options.micro_batches) simple.micro_batches = 1;
  for (const PlanChoiceRow& row : plan_choices()) row.set(simple, options.chosen[row.choice].value_or(0));
  for (const Plan& plan : {alike->plan, simple}) {
    std::optional<Estimate> found = best_by_layer(*answer.estimator, options, plan);
    if (!found || (found->verdict != Verdict::fits && !options.allow_risk)) continue;
    if (!answer.layered || found->time.step_time() < answer.layered->time.step_time()) answer.layered = std::move(found);
  }
  if (!answer.layered) return;
  const Seconds fastest = best.front().time.step_time();
  if (answer.layered->time.step_time() * (1 + usual_tie) >= fastest) return;
  answer.result.best.insert(answer.result.best.begin(), *answer.layered);
  if (answer.options.all) answer.result.first.insert(answer.result.first.begin(), *answer.layered);
}

}  // namespace ddl
