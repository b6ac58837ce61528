#include <algorithm>
#include <array>
#include <cassert>
#include <filesystem>
#include <memory>

#include <fmt/format.h>

#include "calibration/inputs/machine_reader.hpp"
#include "calibration/inputs/plan_degrees.hpp"
#include "calibration/network/fits/fitted_links.hpp"
#include "calibration/runs/time_errors_file.hpp"
#include "cli/commands/commands.hpp"
#include "cli/commands/for_framework.hpp"
#include "cli/commands/recommendation.hpp"
#include "cli/commands/save_directory.hpp"
#include "cli/commands/search_watch.hpp"
#include "cli/documents/charts.hpp"
#include "cli/documents/check.hpp"
#include "cli/documents/convergence.hpp"
#include "cli/documents/energy.hpp"
#include "cli/documents/estimate.hpp"
#include "cli/documents/goodput.hpp"
#include "cli/documents/intervals.hpp"
#include "cli/documents/ranking.hpp"
#include "cli/documents/startable.hpp"
#include "cli/options/goals.hpp"
#include "cli/options/job_file.hpp"
#include "cli/options/option_value.hpp"
#include "cli/options/plan_options.hpp"
#include "cli/options/strategies.hpp"
#include "cli/options/train_tokens.hpp"
#include "cli/report/fields.hpp"
#include "cli/report/figures.hpp"
#include "cli/report/formats/format.hpp"
#include "cli/report/interrupt.hpp"
#include "cli/report/shell_words.hpp"
#include "cli/report/steps.hpp"
#include "cli/sentences/sentences.hpp"
#include "core/error.hpp"
#include "core/find.hpp"
#include "core/source_text.hpp"
#include "core/units.hpp"
#include "estimator/explain/explanation.hpp"
#include "estimator/explain/unmeasured.hpp"
#include "estimator/search/memory_check.hpp"
#include "estimator/search/search.hpp"
#include "model_zoo/network/model.hpp"

namespace ddl {
namespace {

/// Returns a hint for the number of GPUs, which the name of the machine may contain: `8xh100`, `h100 x8`.
std::string gpus_hint(std::string_view machine) {
  constexpr std::string_view digits = "0123456789";
  std::string_view count = machine.substr(0, std::min(machine.find_first_not_of(digits), machine.size()));
  if (count.empty() || !machine.substr(count.size()).starts_with('x')) {
    const std::size_t at = machine.find_last_not_of(digits);
    // `rtx4090` is a name, `h100x8` and `a40 x8` have a number of devices.
    const bool is_count = at != std::string_view::npos && at > 0 && machine[at] == 'x' &&
                          (digits.find(machine[at - 1]) != std::string_view::npos || machine[at - 1] == ' ');
    count = is_count ? machine.substr(at + 1) : std::string_view();
  }
  constexpr std::size_t most_digits = 7;
  if (!count.empty() && count.front() != '0' && count.size() <= most_digits) return fmt::format("use --gpus {}", count);
  return "use for example --gpus 64, or --gpus 1..1024 to find how many are enough";
}

void refuse_cost_without_price(const Machine& machine) {
  if (machine.price_per_gpu_hour) return;
  throw Error(fmt::format("--objective cost needs the price of a device, but the datasheet of {} has none", machine.name),
              fmt::format("add --price {}", shell_words(std::array{machine.name + "=2.5USD/h"})));
}

/// `typed`: the value of --for, if it stands for several frameworks.
[[noreturn]] void refuse_framework(const Framework& framework, const std::string& typed, std::string_view what,
                                   const std::string& reason) {
  const std::string name = typed.empty() ? std::string(framework.name) : fmt::format("{} ({})", typed, framework.name);
  throw Error(
      fmt::format("--for {}: {}: {}", name, what, reason),
      fmt::format("choose another framework, or leave --for out: --software {} predicts the speed without launch files",
                  framework.software));
}

/// Puts the first plan that fits with the memory that the allocator reserves before all others. The search does not model
/// the allocator.
void put_safe_first(RecommendAnswer& answer) {
  std::vector<Estimate>& plans = answer.shown;
  const auto safe = std::ranges::find_if(plans, [&](Estimate each) {
    add_reserved(*answer.estimator, each);
    return each.feasible() && verdict_of(each.memory, answer.study->machine().device.memory) == Verdict::fits;
  });
  if (safe != plans.end()) std::rotate(plans.begin(), safe, safe + 1);
}

void search_into(RecommendAnswer& answer) {
  const RecommendOptions& options = answer.options;
  if (const Framework* const framework = framework_named(options.framework)) {
    if (const auto reason = starts_nothing(*framework, *answer.study, answer.gpus))
      refuse_framework(*framework, options.typed_framework, "no plan can be started", *reason);
  }
  SearchOptions search_options = search_options_of(answer);
  const std::int64_t rows = options.top.value_or(0);
  const Interrupt interrupt;
  {
    SearchWatch watch(options.time_limit);
    watch.watch(search_options);
    answer.result = search(*answer.estimator, search_options);
    add_layered_plan(answer, search_options);
    if (const Framework* const framework = framework_named(options.framework);
        framework && answer.result.best.empty() && !answer.result.stopped) {
      search_options.only_startable = false;
      const std::vector<Estimate> fitting = search(*answer.estimator, search_options).best;
      if (!fitting.empty())
        refuse_framework(*framework, options.typed_framework, "no plan that fits can be started",
                         why_none_starts(*framework, *answer.study, fitting));
    }
    answer.seconds = watch.seconds();
    answer.at_limit = watch.is_at_limit();
  }

  for (const auto& [family, zero_stage] : search_options.families) {
    const auto is_said = [own = family](const Estimate& rejected) { return rejected.plan.mesh.family() == own; };
    const auto& known = answer.without_plans;
    if (can_divide(answer.gpus, family) || contains(known, family) || std::ranges::any_of(answer.result.rejected, is_said)) {
      continue;
    }
    answer.without_plans.push_back(family);
  }

  if (answer.objective == Objective::energy)
    rank_by_energy(options.all ? answer.result.first : answer.result.best, *answer.estimator, search_options);
  if (options.risk) rank_by_risk(answer, search_options);
  const auto top = static_cast<std::size_t>(rows);
  if (options.all) {
    answer.shown = answer.result.first;
    if (!options.allow_risk) put_safe_first(answer);
  } else {
    answer.shown.assign(answer.result.best.begin(),
                        answer.result.best.begin() + static_cast<std::ptrdiff_t>(std::min(top, answer.result.best.size())));
  }
}

Report answer_report(const std::shared_ptr<RecommendAnswer>& answer) {
  Report report;
  report.document = document_of(*answer);
  report.page = [answer] { return document_of(*answer, true); };
  report.json = [answer] {
    add_reserved(*answer);
    return json_of(*answer);
  };
  report.rows = [answer] {
    add_reserved(*answer);
    // A plan that the user fixed has no rank.
    return answer->single ? plans_rows({}, answer->shown, *answer->study, answer->options.training)
                          : plans_rows(answer->shown, answer->result.rejected, *answer->study, answer->options.training);
  };
  report.steps = [answer] {
    std::vector<NamedStep> steps;
    if (!answer->shown.empty()) steps.push_back(named_step(*answer->estimator, answer->shown.front().plan));
    return steps;
  };
  const bool fits = !answer->shown.empty() && answer->shown.front().feasible();
  report.status = fits ? ExitStatus::ok : ExitStatus::nothing_fits;
  report.warnings = answer->study->warnings();
  if (!answer->shown.empty()) {
    const Plan& best = answer->shown.front().plan;
    report.warn(without_effect_on(plan_word(best), options_without_effect(answer->options.plan, *answer->study, best)));
  }
  if (const std::size_t cases = answer->options.what_if.size(); answer->what_if.size() < cases && Interrupt::asked()) {
    report.warnings.push_back(
        fmt::format("interrupted: {} of {} cases of --what-if have an answer", answer->what_if.size(), cases));
    report.status = ExitStatus::interrupted;
  }
  if (answer->result.stopped) {
    const auto gap = answer->shown.empty() ? std::nullopt : gap_of(answer->result, answer->shown.front(), answer->objective);
    report.warnings.push_back(fmt::format("{}: {} plans were searched, {}", answer->at_limit ? "time limit" : "interrupted",
                                          with_thousands(answer->result.estimated + answer->result.pruned),
                                          gap ? gap_text(*gap, answer->result) : "and the others may include better ones"));
    if (!answer->at_limit) report.status = ExitStatus::interrupted;
  }
  const Study& study = *answer->study;
  if (fits && !study.coefficients().exchanges.empty()) {
    const Explanation best = explain(*answer->estimator, answer->shown.front().plan);
    for (std::string& outside : outside_of_measured(study.coefficients(), study.machine(), best)) {
      report.warnings.push_back(std::move(outside));
    }
  }
  return report;
}

}  // namespace

// Reserved memory is computed only for JSON and CSV, because only these formats contain it.
void add_reserved(RecommendAnswer& answer) {
  add_reserved(*answer.estimator, answer.shown);
  add_reserved(*answer.estimator, answer.result.rejected);
  add_intervals(answer.result.rejected, *answer.study, *answer.estimator);
}

std::shared_ptr<RecommendAnswer> ranked_answer(const RecommendOptions& options, const PlanStudy& asked) {
  auto answer = std::make_shared<RecommendAnswer>();
  answer->options = options;
  answer->objective = chosen<Objective>("--objective", options.objective);
  answer->study = asked.study;
  refuse_without_tokens(options.training, answer->study->model());
  refuse_unknown_epoch(options.training, *answer->study);
  settle_target(answer->options.training, answer->study->model());
  refuse_useless_recovery(*answer->study, answer->options.training);
  if (answer->objective == Objective::energy) refuse_energy_without_power(answer->study->machine());
  if (options.risk) refuse_risk(answer->objective);
  if (options.per_layer && answer->objective == Objective::memory)
    throw Error("--per-layer looks for a faster plan: it cannot be combined with --objective memory",
                "leave one of them out");
  if (answer->objective == Objective::cost) refuse_cost_without_price(answer->study->machine());
  answer->estimator = std::make_shared<Estimator>(answer->study->job());
  answer->single = asked.plan.has_value();
  if (asked.plan) {
    answer->gpus = asked.plan->mesh.devices();
    answer->global_batch = asked.plan->global_batch;
    refuse_unpublished_batch(answer->options.training, answer->global_batch);
    Estimate estimate = answer->estimator->estimate(*asked.plan);
    refuse_contradiction(estimate, answer->study->model(), options.plan);
    answer->shown.push_back(estimate);
    answer->result.considered = answer->result.estimated = 1;
    answer->result.feasible = estimate.feasible() ? 1 : 0;
  } else {
    assert(options.plan.gpus);
    answer->gpus = *options.plan.gpus;
    answer->global_batch = global_batch_of(options.plan, answer->gpus, *answer->study);
    refuse_unpublished_batch(answer->options.training, answer->global_batch);
    search_into(*answer);
  }
  add_intervals(answer->shown, *answer->study, *answer->estimator);
  if (wants_energy(*answer->study) && answer->objective != Objective::energy) add_power(answer->shown, *answer->estimator);
  // The headline has the upper bound of the memory, which includes what the allocator reserves.
  if (!answer->shown.empty()) {
    Estimate& first = answer->shown.front();
    add_reserved(*answer->estimator, first);
    if (first.feasible()) first.verdict = verdict_of(first.memory, answer->study->machine().device.memory);
  }
  if (answer->study->kernels().measured() != nullptr) {
    for (const Estimate& estimate : answer->shown) answer->shares.push_back(explain(*answer->estimator, estimate.plan));
  }
  return answer;
}

std::shared_ptr<RecommendAnswer> answer_of(const RecommendOptions& options, const Command& command) {
  const PlanStudy asked = plan_study(options.study, options.plan);
  std::shared_ptr<RecommendAnswer> answer = ranked_answer(options, asked);
  answer->defaults = plan_defaults(command, options.study, options.plan, asked, answer->global_batch);
  if (!answer->single && command.count("--objective") == 0) answer->defaults.push_back({"--objective", "time", ""});
  return answer;
}

namespace {

/// If --to-accuracy is given without a batch, all published batches are tried.
RecommendOptions with_published_batches(RecommendOptions options) {
  const PlanOptions& plan = options.plan;
  const bool open = !plan.global_batch && plan.global_batches.empty() && !plan.batch_per_gpu && !plan.name_plan();
  if (!options.training.to_accuracy || !open || studies_named(options.study).size() > 1) return options;
  settle_target(options.training, Study(spec_of(options.study)).model());
  for (const ConvergencePoint& point : options.training.convergence->points)
    options.plan.global_batches.push_back(point.batch);
  return options;
}

/// Searches for the best plan for the work of a configuration. Also predicts the plan in the configuration.
std::shared_ptr<RecommendAnswer> answer_like(const RecommendOptions& options, const Command& command) {
  ConfiguredPlan configured{.configuration = read_configuration(options.like, script_values_in(options.set_words)),
                            .estimate = {}};
  const Configuration& read = configured.configuration;
  const auto is_given = [&](const std::string& option) { return command.count(option) > 0; };
  const ConfiguredOptions asked = options_of(read, options.study, options.plan, is_given);
  if (studies_named(asked.study).size() > 1)
    throw Error("--like takes one model and one machine, but there are several", "name one model and one machine");
  RecommendOptions changed = options;
  changed.study = asked.study;
  changed.plan = asked.sought;
  const PlanStudy own_study = plan_study(asked.study, asked.own);
  assert(own_study.plan);
  const std::shared_ptr<RecommendAnswer> answer = answer_of(changed, command);
  configured.estimate = answer->estimator->estimate(*own_study.plan);
  add_intervals(configured.estimate, *answer->study, *answer->estimator);
  refuse_impossible(configured, answer->study->model());
  if (const Estimate* best = answer->best())
    configured.changes = changes_to(*best, configured, answer->study->model().blocks, options.study, options.plan, is_given);
  remove_said(answer->defaults, asked.said);
  std::vector<std::string>& warnings = configured.configuration.warnings;
  warnings.insert(warnings.end(), asked.warnings.begin(), asked.warnings.end());
  answer->configured = std::move(configured);
  return answer;
}

/// Throws Error if --price names a device that no requested machine has.
void check_prices(const RecommendOptions& options) {
  const auto& prices = options.study.prices;
  if (std::ranges::all_of(prices, [](const DevicePrice& each) { return each.device.empty(); })) return;
  std::vector<Machine> machines;
  for (const NamedStudy& each : studies_named(options.study)) machines.push_back(load_machine(each.machine));
  refuse_unused_prices(prices, machines);
}

/// Answers the question again for each case of --what-if. The plan is the first plan of the answer. A case that the user
/// interrupts has no answer, because a part of its plans would be compared with all plans.
void suppose(RecommendAnswer& answer, const RecommendOptions& options, const Command& command) {
  if (answer.shown.empty()) return;
  for (const std::string& text : options.what_if) {
    if (Interrupt::asked()) break;
    RecommendOptions changed = options;
    changed.study.supposed = parse_what_if(text);
    const std::shared_ptr<RecommendAnswer> then = answer_of(changed, command);
    if (Interrupt::asked()) break;
    SupposedOutcome outcome = supposed_outcome(text, answer.shown.front().plan, *then->study, *then->estimator);
    if (!then->single && then->best() != nullptr) outcome.best = *then->best();
    // The search may prefer a simpler strategy that ties. It is not better than the plan of the answer.
    const bool by_time = answer.objective == Objective::time || answer.objective == Objective::cost;
    if (outcome.best && by_time && outcome.same.feasible() && outcome.same.verdict <= outcome.best->verdict &&
        outcome.same.time.step_time() <= outcome.best->time.step_time())
      outcome.best = outcome.same;
    answer.what_if.push_back(std::move(outcome));
  }
}

Report recommend(RecommendOptions asked, const Command& command, const std::string& output) {
  check_prices(asked);
  settle_counts(asked.study, asked.plan, !asked.like.empty());
  RecommendOptions options = asked.like.empty() ? with_published_batches(asked) : asked;
  const bool several = !options.plan.gpu_counts.empty() || !options.plan.global_batches.empty() || options.goals.any();
  set_framework(options);
  options.folder = options.save_dir.empty() ? report_folder(output) : options.save_dir;
  std::shared_ptr<RecommendAnswer> answer;
  for (const std::string& text : options.what_if) static_cast<void>(parse_what_if(text));
  if (!options.what_if.empty() && (several || !options.like.empty() || studies_named(options.study).size() > 1)) {
    throw Error("--what-if takes one model, one machine, one number of GPUs and one batch",
                "leave lists, --like, the budget or the deadline out");
  }
  if (!options.like.empty()) {
    if (several)
      throw Error("--like takes one number of GPUs and one batch", "leave the list, the budget or the deadline out");
    if (!options.save_dir.empty()) check_save_directory({options.save_dir, options.overwrite});
    answer = answer_for_framework(options, [&](const RecommendOptions& own) { return answer_like(own, command); });
  } else {
    const bool counts_gpus = studies_named(options.study).front().gpus.has_value();
    if (!options.plan.gpus && options.plan.gpu_counts.empty() && !options.plan.name_plan() && !options.goals.any() &&
        !counts_gpus)
      throw Error("--gpus is missing", gpus_hint(options.study.machine));
    if (several) return recommend_scaling(options, command);
    if (studies_named(options.study).size() > 1) return recommend_each(options, command);
    if (!options.save_dir.empty()) check_save_directory({options.save_dir, options.overwrite});
    const std::vector<std::string> said = take_from_plan(options.study, options.plan, command);
    const Interrupt interrupt;
    answer = answer_for_framework(options, [&](const RecommendOptions& own) { return answer_of(own, command); });
    options.framework = answer->options.framework;
    set_framework(options);
    if (answer->shown.empty() && !answer->result.stopped) find_possible(*answer);
    suppose(*answer, options, command);
    remove_said(answer->defaults, said);
    if (!options.framework.empty()) remove_said(answer->defaults, {"--software"});
  }
  if (!options.missing.empty()) write_missing(*answer, output);
  Report report = answer_report(answer);
  if (const auto& configured = answer->configured) report.warn(configured->configuration.warnings);
  if (!options.save_job.empty()) write_job(*answer, output, report);
  if (!options.save_dir.empty()) write_directory(*answer, report);
  return report;
}

/// Suggested next commands: check the written job, or launch the plan.
void add_next(const RecommendOptions& options, Report& report) {
  if (!options.save_dir.empty()) {
    report.next.push_back(shell_words(
        std::vector<std::string>{"ddl-oracle", "check", (std::filesystem::path(options.save_dir) / "job.yaml").string()}));
  } else if (!options.save_job.empty()) {
    report.next.push_back(shell_words(std::vector<std::string>{"ddl-oracle", "check", options.save_job}));
  } else if (report.steps && !options.study.ideal && report.status == ExitStatus::ok) {
    report.next.push_back(options.typed + " --save-dir run");
  } else {
    report.next.push_back(options.typed + " --format html -o report.html");
  }
}

}  // namespace

void add_recommend(const Command& program, Request& request) {
  const Command command = program.add_subcommand("recommend", "rank all parallel training plans of a model on N GPUs");
  auto options = std::make_shared<RecommendOptions>();
  add_study_options(command, options->study);
  command.get_option("--model").description(
      "bundled model (see 'models list') or a model file; several, separated by commas, are compared");
  command.get_option("--machine")
      .description(
          "bundled machine (see 'machines list') or a machine file; several, separated by commas, are compared; "
          "h100:32,a100:64 compares different numbers of GPUs");
  command.examples({{"ddl-oracle recommend resnet50 --machine a100 --gpus 64", "the best plan of each strategy"},
                    {"ddl-oracle recommend llama3-8b --machine h100 --gpus 64 --for torchtitan --price 2.5USD/h",
                     "the best plan that torchtitan can run, with the price that you pay"},
                    {"ddl-oracle recommend llama3-70b --machine h100 --gpus 64..1024 --train-tokens 1T --deadline 30d",
                     "how many GPUs are enough"}});
  const PlanOptionHandles handles = add_plan_options(command, options->plan, true);
  add_training_options(command, options->training);
  add_price_option(command, options->study.prices);
  add_goal_options(command, options->goals);
  add_what_if_option(command, options->what_if).excludes(command.get_option("--ideal"));
  const auto framework =
      command
          .add_option("--for", options->framework,
                      "search only plans that this framework can run, predict them with its software, and write launch "
                      "files with --save-dir; pytorch: the faster of ddp and fsdp, ddp if they tie")
          .words([] {
            const std::vector<std::string_view> names = framework_choices();
            return std::vector<std::string>(names.begin(), names.end());
          })
          .excludes(command.get_option("--ideal"));
  const auto objective =
      command.add_option("--objective", options->objective, "what to minimize").capture_default_str().words([] {
        return std::vector<std::string>{"time", "cost", "memory", "energy"};
      });
  const auto top = add_whole_number(command, "--top", options->top, 1, most_rows, "rows to show");
  const auto time_limit = add_time_limit(command, options->time_limit);
  const auto chance = add_risk(command, options->risk);
  const auto risk = command.add_switch("--allow-risk", options->allow_risk,
                                       "rank plans that may not fit in memory (AT-RISK) together with plans that fit");
  const auto all = command.add_switch("--all", options->all, "rank all plans, not only the best of each strategy");
  const auto per_layer = add_per_layer(command, options->per_layer);
  command.add_option("--missing", options->missing, "write the unmeasured kernels of the shown plans to FILE")
      .file()
      .excludes(command.get_option("--ideal"));
  command.add_option("--save-job", options->save_job, "write the top-ranked plan to this file, as a job for 'check'")
      .file()
      .excludes(command.get_option("--ideal"));
  const auto directory =
      command
          .add_option("--save-dir", options->save_dir,
                      "write the answer, the top-ranked plan as a job, all candidates and launch scripts into this folder",
                      "DIR")
          .excludes(command.get_option("--ideal"));
  command.add_switch("--overwrite", options->overwrite, "replace the folder of --save-dir").needs(directory);
  const auto like = command.add_option("--like", options->like, like_help).file();
  handles.plan.excludes(like);
  handles.degrees.excludes(like);
  per_layer.excludes(like);
  add_set_option(command, options->set_words).needs(like);
  // Options of the search are refused if there is no search, because they would be ignored.
  framework.excludes(all);
  for (const auto of_search : {framework, objective, all, risk, chance, per_layer, top, time_limit}) {
    handles.plan.excludes(of_search);
    handles.degrees.excludes(of_search);
  }
  add_report_options(command, request.report, {Content::rows, Content::steps});
  request.on_choice(command, [options, command, &request] {
    settle_lists(options->plan);
    options->typed = request.command;
    Report report = recommend(*options, command, request.report.output);
    add_next(*options, report);
    return report;
  });
}

}  // namespace ddl
