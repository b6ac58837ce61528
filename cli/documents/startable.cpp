#include "cli/documents/startable.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <utility>

#include <fmt/format.h>

#include "calibration/inputs/host_facts.hpp"
#include "cli/options/strategies.hpp"
#include "cli/tools/configuration_format.hpp"
#include "cli/tools/launched_settings.hpp"
#include "cli/tools/network_of.hpp"
#include "core/error.hpp"
#include "core/find.hpp"
#include "estimator/choices/plan_choice.hpp"
#include "estimator/strategies/context.hpp"
#include "model_zoo/network/packed_sequences.hpp"

namespace ddl {
namespace {

/// Returns plans that differ from `plan` in one choice, in the placement, or in the number of micro-batches.
std::vector<Plan> neighbours_of(const Plan& plan, const FixedChoices& fixed) {
  std::vector<Plan> plans;
  const auto add = [&](const auto& change) {
    Plan changed = plan;
    change(changed);
    // A choice that has no effect on the changed plan gets its first value.
    for (const PlanChoiceRow& row : plan_choices()) {
      if (!row.matters(changed.mesh) || (row.counts != nullptr && !row.counts(changed))) row.set(changed, 0);
    }
    if (!(changed == plan)) plans.push_back(std::move(changed));
  };
  if (!fixed.placement) add([](Plan& changed) { changed.placement = Plan{}.placement; });
  for (const PlanChoiceRow& row : plan_choices()) {
    constexpr int most_values = 8;
    if (fixed.chosen[row.choice]) continue;
    const std::optional<std::vector<int>>& values = fixed.admitted[row.choice];
    for (int value = 0; value <= std::min(row.last, most_values); ++value) {
      if (values && std::find(values->begin(), values->end(), value) == values->end()) continue;
      if (value > 0 && !row.is_searched) break;
      add([&](Plan& changed) { row.set(changed, value); });
    }
  }
  // Recomputation saves the memory of activations that stay on the device.
  const auto& recompute = fixed.admitted[PlanChoice::recompute];
  constexpr int full = static_cast<int>(Recompute::full);
  const bool recomputes = !recompute || std::find(recompute->begin(), recompute->end(), full) != recompute->end();
  const bool may_move = !fixed.chosen[PlanChoice::offload_activations] && !fixed.chosen[PlanChoice::recompute];
  if (plan.offload_activations && recomputes && may_move) {
    add([](Plan& changed) { changed.offload_activations = false, changed.recompute = Recompute::full; });
  }
  for (const std::int64_t count : {plan.micro_batches * 2, plan.micro_batches / 2}) {
    if (count >= 1 && !fixed.micro_batches) add([&](Plan& changed) { changed.micro_batches = count; });
  }
  return plans;
}

/// Returns the fastest feasible plan of `plans` that `starts` accepts.
std::optional<Estimate> fastest_of(const std::vector<Plan>& plans, const Estimator& estimator, Verdict most,
                                   const std::function<bool(const Estimate&)>& starts) {
  std::optional<Estimate> best;
  for (const Plan& plan : plans) {
    Estimate shape;
    shape.plan = plan;
    if (!estimator.limits(plan).empty() || !starts(shape)) continue;
    Estimate estimate = estimator.estimate(plan);
    if (!estimate.feasible() || estimate.verdict > most || !starts(estimate)) continue;
    if (!best || estimate.time.step_time() < best->time.step_time()) best = std::move(estimate);
  }
  return best;
}

}  // namespace

LaunchOutcome launch_outcome(const Launcher& launcher, const Study& study, const Estimate& estimate,
                             std::span<const Launch> written) {
  const Device& device = study.machine().device;
  const std::string maker = maker_of(device.name);
  if (!device.is_processor && maker != "NVIDIA" && maker != "AMD")
    return CannotLaunch{fmt::format("the launch files support NVIDIA and AMD GPUs, not {}", device.name)};
  if (is_packed(study.model())) return CannotLaunch{"the launch files do not pack documents into sequences"};
  if (!estimate.plan.segments.empty() && !launcher.may_have_layouts)
    return CannotLaunch{"the launch files have one layout for all layers"};
  if (!estimate.plan.table_segments.empty()) return CannotLaunch{"the launch files distribute all tables in the same way"};
  if (!estimate.plan.recompute_segments.empty())
    return CannotLaunch{"the launch files recompute the same blocks of each stage"};
  if (!estimate.plan.zero_segments.empty() && !launcher.may_have_layouts)
    return CannotLaunch{"the launch files have one ZeRO stage for all layers"};
  const Plan& plan = estimate.plan;
  if (plan.mesh[Axis::context] > 1 && plan.context_exchange == ContextExchange::ulysses &&
      !may_exchange_heads(study.job().facts, plan))
    return CannotLaunch{"the launch files do not repeat heads of keys for Ulysses"};
  const LaunchRequest request{study, estimate, written};
  if (std::optional<CannotLaunch> lacks = lacks_equal_nodes(request)) return *lacks;
  LaunchOutcome outcome = launcher.launch(request);
  auto* const launch = std::get_if<Launch>(&outcome);
  if (launch == nullptr || launcher.name == submitter) return outcome;
  if (std::optional<CannotLaunch> lacks = lacks_settings(request, launch->carried)) return *lacks;
  const LaunchNodes nodes = launch_nodes(request);
  const std::int64_t full = study.machine().devices_per_node();
  if (nodes.nodes > 1 && nodes.devices_per_node < full) {
    launch->notes.push_back(fmt::format("the files start {} of the {} devices of each node; the prediction fills nodes",
                                        nodes.devices_per_node, full));
  }
  return outcome;
}

std::span<const Framework> frameworks() {
  constexpr Family data = family_bit(Axis::data), tensor = family_bit(Axis::tensor), pipeline = family_bit(Axis::pipeline),
                   context = family_bit(Axis::context), expert = family_bit(Axis::expert);
  static const std::array<Framework, 6> all{{
      {"torchtitan", torchtitan_toml.software, "torchtitan", data | tensor | pipeline | context},
      {"megatron", megatron_arguments.software, "Megatron-LM", data | tensor | pipeline | context | expert},
      {"deepspeed", deepspeed_json.software, "DeepSpeed", data},
      {"nemo", nemo_yaml.software, "NeMo", data | tensor | pipeline | context | expert},
      {"fsdp", "fsdp", "PyTorch", data | tensor, 2, 3},
      {"ddp", "pytorch", "PyTorch", data, 0, 0, MixedPrecision::autocast},
  }};
  return all;
}

std::vector<std::string_view> framework_names() {
  std::vector<std::string_view> names;
  for (const Framework& each : frameworks()) names.push_back(each.name);
  return names;
}

const Framework* framework_named(std::string_view name) {
  const auto found =
      std::find_if(frameworks().begin(), frameworks().end(), [&](const Framework& each) { return each.name == name; });
  return found == frameworks().end() ? nullptr : &*found;
}

std::optional<std::string> cannot_start(const Framework& framework, const Study& study, const Estimate& estimate) {
  const Plan& plan = estimate.plan;
  if (plan.mesh.devices() > 1 && plan.mesh[Axis::data] > 1 &&
      (plan.zero_stage < framework.least_zero || plan.zero_stage > framework.most_zero))
    return framework.most_zero == 0 ? "the framework shards nothing: ZeRO-0"
                                    : "the framework shards gradients: ZeRO-2 or ZeRO-3";
  if ((plan.mesh.family() & ~framework.axes) != 0) return "the framework lacks this parallelism";
  for (const Launcher& launcher : launchers()) {
    if (launcher.name != framework.launcher) continue;
    const LaunchOutcome outcome = launch_outcome(launcher, study, estimate);
    if (const auto* cannot = std::get_if<CannotLaunch>(&outcome)) return cannot->reason;
  }
  return std::nullopt;
}

std::optional<std::string> starts_nothing(const Framework& framework, const Study& study, std::int64_t gpus) {
  std::optional<std::string> reason;
  constexpr std::array axes{Axis::data, Axis::tensor, Axis::pipeline, Axis::context, Axis::expert};
  for (const Axis axis : axes) {
    if ((framework.axes & family_bit(axis)) == 0) continue;
    for (const int zero : {framework.least_zero, framework.most_zero}) {
      Estimate simple;
      simple.plan.mesh.set(axis, static_cast<int>(gpus));
      simple.plan.global_batch = gpus;
      simple.plan.zero_stage = axis == Axis::data ? zero : 0;
      simple.plan.precision = study.precision();
      simple.plan.optimizer = study.optimizer();
      std::optional<std::string> own = cannot_start(framework, study, simple);
      if (!own || (reason && *reason != *own)) return std::nullopt;
      reason = std::move(own);
    }
  }
  return reason;
}

void keep_to(const Framework& framework, const std::shared_ptr<Study>& study, SearchOptions& options) {
  options.only_startable = true;
  options.is_startable = [&framework, study](const Estimate& estimate) {
    return !cannot_start(framework, *study, estimate);
  };
  const Model& model = study->model();
  // No framework divides attention heads among ranks in unequal parts.
  const std::int64_t heads = family_number(model, "heads"), groups = family_number(model, "kv_heads");
  options.admits = [heads, groups](const Mesh& mesh) {
    return heads % mesh[Axis::tensor] == 0 && groups % mesh[Axis::tensor] == 0;
  };
  std::vector<int> stages;
  for (int stage = framework.least_zero; stage <= framework.most_zero; ++stage) stages.push_back(stage);
  options.admitted[PlanChoice::zero] = std::move(stages);
  // No launcher writes files that offload activations.
  if (!options.chosen[PlanChoice::offload_activations])
    options.admitted[PlanChoice::offload_activations] = std::vector<int>{0};
  if (!options.families.empty()) return;
  for (Family family = 0; family < (Family{1} << axis_count); ++family) {
    if ((family & ~framework.axes) == 0 && is_meaningful(family) && can_divide(options.devices, family))
      options.families.push_back({family, std::nullopt});
  }
}

std::vector<std::string_view> tools_that_start(const Study& study, const Estimate& estimate) {
  std::vector<std::string_view> names;
  for (const Launcher& launcher : launchers()) {
    if (launcher.name != submitter && std::holds_alternative<Launch>(launch_outcome(launcher, study, estimate)))
      names.push_back(launcher.name);
  }
  return names;
}

bool is_startable(const Study& study, const Estimate& estimate) {
  return std::any_of(launchers().begin(), launchers().end(), [&](const Launcher& launcher) {
    return launcher.name != submitter && std::holds_alternative<Launch>(launch_outcome(launcher, study, estimate));
  });
}

std::optional<Estimate> nearest_startable(const Estimator& estimator, const Estimate& estimate, const FixedChoices& fixed,
                                          const std::function<bool(const Estimate&)>& starts) {
  if (starts(estimate)) return estimate;
  const std::vector<Plan> near = neighbours_of(estimate.plan, fixed);
  if (std::optional<Estimate> found = fastest_of(near, estimator, estimate.verdict, starts)) return found;
  std::vector<Plan> further;
  for (const Plan& plan : near) {
    for (Plan& each : neighbours_of(plan, fixed)) {
      if (!contains(further, each)) further.push_back(std::move(each));
    }
  }
  return fastest_of(further, estimator, estimate.verdict, starts);
}

namespace {

/// Returns the software with which a launcher runs a plan.
std::string_view software_of(std::string_view launcher, const Study& study, const Estimate& estimate) {
  std::string_view software;
  for (const Framework& each : frameworks()) {
    if (each.launcher != launcher) continue;
    software = each.software;
    if (!cannot_start(each, study, estimate)) break;
  }
  return software;
}

/// Predicts a plan with other software, and otherwise the same inputs. Empty if this software cannot predict the plan, or
/// if it is the software of the study.
std::optional<Estimate> predicted_with(std::string_view software, const Study& study, const Estimate& estimate) {
  if (software.empty() || software == study.software().name) return std::nullopt;
  StudySpec spec = study.spec();
  spec.software = software;
  try {
    const Study own(spec);
    Estimate predicted = Estimator(own.job()).estimate(estimate.plan);
    if (predicted.time.step_time() > Seconds{}) return predicted;
  } catch (const Error&) {  // the options contradict this software
  }
  return std::nullopt;
}

}  // namespace

namespace {

/// Returns why no tool can run a plan: the reason of the first tool that supports all axes of the plan, else of the first
/// tool.
std::string why_not_started(const Study& study, const Estimate& estimate) {
  std::string first;
  for (const Launcher& launcher : launchers()) {
    const LaunchOutcome outcome = launch_outcome(launcher, study, estimate);
    const auto* cannot = std::get_if<CannotLaunch>(&outcome);
    if (cannot == nullptr || launcher.name == submitter) continue;
    const std::string reason = fmt::format("{}: {}", launcher.name, cannot->reason);
    const bool has_axes = std::any_of(frameworks().begin(), frameworks().end(), [&](const Framework& each) {
      return each.launcher == launcher.name && (estimate.plan.mesh.family() & ~each.axes) == 0;
    });
    if (has_axes) return reason;
    if (first.empty()) first = reason;
  }
  return first;
}

}  // namespace

std::vector<StartingTool> predicted_starts(const Study& study, const Estimate& estimate) {
  std::vector<StartingTool> tools;
  std::vector<std::pair<std::string_view, std::optional<Estimate>>> known;  // by software, which several tools share
  for (const std::string_view name : tools_that_start(study, estimate)) {
    const std::string_view software = software_of(name, study, estimate);
    auto found = std::ranges::find_if(known, [&](const auto& each) { return each.first == software; });
    if (found == known.end()) found = known.emplace(known.end(), software, predicted_with(software, study, estimate));
    const std::optional<Estimate>& other = found->second;
    tools.push_back({name, other.value_or(estimate), other ? software : std::string_view()});
  }
  return tools;
}

Start start_of(const Study& study, const Estimator& estimator, const std::vector<const Estimate*>& plans,
               const FixedChoices& fixed) {
  Start start;
  if (plans.empty()) return start;
  const auto is_started = [&](const Estimate& estimate) { return is_startable(study, estimate); };
  for (StartingTool& tool : predicted_starts(study, *plans.front())) {
    if (tool.estimate.feasible()) {
      start.tools.push_back(tool.name);
    } else {
      start.too_small.push_back(std::move(tool));
    }
  }
  if (!start.tools.empty() || !start.too_small.empty()) return start;
  start.reason = why_not_started(study, *plans.front());
  for (const Estimate* const each : plans) {
    std::optional<Estimate> found = nearest_startable(estimator, *each, fixed, is_started);
    const bool is_better =
        found && (!start.plan || found->verdict < start.plan->verdict ||
                  (found->verdict == start.plan->verdict && found->time.step_time() < start.plan->time.step_time()));
    if (is_better) start.plan = std::move(found);
  }
  if (!start.plan) return start;
  std::optional<Estimate> fastest;
  for (const StartingTool& tool : predicted_starts(study, *start.plan)) {
    if (!tool.estimate.feasible()) continue;
    start.tools.push_back(tool.name);
    if (fastest && tool.estimate.time.step_time() >= fastest->time.step_time()) continue;
    fastest = tool.estimate;
    start.other_software = tool.other_software;
  }
  start.plan = std::move(fastest);
  return start;
}

std::string why_none_starts(const Framework& framework, const Study& study, const std::vector<Estimate>& plans) {
  // The reason against the simplest plan remains for all other plans.
  const auto simplest = std::ranges::min_element(plans, [](const Estimate& a, const Estimate& b) {
    return std::popcount(a.plan.mesh.family()) < std::popcount(b.plan.mesh.family());
  });
  return cannot_start(framework, study, *simplest).value_or("the launch files support none of the plans that fit");
}

}  // namespace ddl
