#include <algorithm>
#include <memory>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "calibration/inputs/machine_reader.hpp"
#include "cli/commands/for_framework.hpp"
#include "cli/commands/recommendation.hpp"
#include "cli/documents/ranking.hpp"
#include "cli/documents/scaling.hpp"
#include "cli/documents/study_outcomes.hpp"
#include "cli/report/interrupt.hpp"
#include "core/error.hpp"
#include "model_zoo/files/load_model.hpp"
#include "model_zoo/network/model.hpp"

namespace ddl {
namespace {

/// Whether the model and the machine exist.
bool is_known(const RecommendOptions& options) {
  try {
    static_cast<void>(load_model(shaped_model(options.study.model, options.study.input_shape)));
    static_cast<void>(load_machine(options.study.machine));
    return true;
  } catch (const Error&) {
    return false;
  }
}

/// Returns the best plan of one study, or the reason why there is no plan.
StudyOutcome outcome_of(const RecommendOptions& options, const Command& command) {
  StudyOutcome outcome;
  outcome.model = options.study.model;
  outcome.machine = options.study.machine;
  outcome.training = options.training;
  try {
    const std::shared_ptr<RecommendAnswer> answer =
        answer_for_framework(options, [&](const RecommendOptions& own) { return answer_of(own, command); });
    outcome.study = answer->study;
    outcome.training = answer->options.training;
    outcome.gpus = answer->gpus;
    outcome.global_batch = answer->global_batch;
    outcome.objective = answer->objective;
    outcome.defaults = answer->defaults;
    add_reserved(*answer);
    if (!answer->shown.empty()) {
      outcome.best = answer->shown.front();
      outcome.fits_on_devices = fits_on_devices(*answer);
    } else {
      outcome.problem = "no plan is possible";
      if (const Estimate* nearest = nearest_miss(answer->result.rejected)) outcome.nearest = *nearest;
    }
  } catch (const Error& error) {
    outcome.problem = error.what();
    outcome.hint = error.hint();
    outcome.understood = is_known(options);
  }
  return outcome;
}

/// Throws Error if the user gave an option that is about the plans of one answer. `asked`: what the question asks instead.
void refuse_about_one(const Command& command, std::string_view asked, std::string_view hint) {
  for (const std::string_view option : {"--top", "--all", "--missing", "--save-job", "--save-dir", "--time-limit"}) {
    if (command.count(std::string(option)) > 0)
      throw Error(
          fmt::format("{} {} {}", option,
                      option == "--top" || option == "--all" ? "ranks the plans of" : "is about the plans of", asked),
          std::string(hint));
  }
}

/// Returns the numbers of GPUs to try if the user gave only goals: powers of two inside a node,
/// then 1, 2, 3, 4, 6, 8, 12 … nodes, up to the whole machine.
std::vector<std::int64_t> usual_gpu_counts(const Machine& machine) {
  const std::int64_t node = std::max<std::int64_t>(1, machine.devices_per_node());
  std::vector<std::int64_t> counts;
  for (std::int64_t count = 1; count < node; count *= 2) counts.push_back(count);
  for (std::int64_t nodes = 1; nodes * node <= machine.devices(); nodes *= 2) {
    counts.push_back(nodes * node);
    if (nodes > 1 && nodes * node * 3 / 2 <= machine.devices()) counts.push_back(nodes * node * 3 / 2);
  }
  std::erase_if(counts, [&](std::int64_t count) { return count > machine.devices(); });
  return counts;
}

void refuse_goals(const RecommendOptions& options, const Machine& machine) {
  const Goals& goals = options.goals;
  if (!goals.any()) return;
  const char* const option = goals.budget ? "--budget" : "--deadline";
  if (!options.training.is_whole())
    throw Error(fmt::format("{} needs the length of the training", option),
                "add --epochs 90, --to-accuracy, or for a sequence model --train-tokens 1T");
  if (!goals.budget) return;
  if (!machine.price_per_gpu_hour) {
    throw Error(fmt::format("--budget needs the price of a device, but the datasheet of {} has none", machine.name),
                "add --price 2.5USD/h");
  }
  if (!goals.budget->currency.empty() && goals.budget->currency != machine.currency) {
    throw Error(fmt::format("--budget is in {}, but the price of {} is in {}", goals.budget->currency, machine.name,
                            machine.currency),
                fmt::format("set the budget in {}", machine.currency));
  }
}

/// Returns a warning for each option that has no effect on any of the best plans.
std::vector<std::string> without_effect_on_all(const PlanOptions& options, const std::vector<StudyOutcome>& outcomes) {
  std::optional<std::vector<std::string>> named;
  for (const StudyOutcome& outcome : outcomes) {
    if (!outcome.study || !outcome.best) continue;
    if (named && named->empty()) break;
    const std::vector<std::string> own = options_without_effect(options, *outcome.study, outcome.best->plan);
    if (!named) named = own;
    // The warnings about one option have the same beginning, but each names what another model lacks.
    std::erase_if(*named, [&](const std::string& each) {
      return std::ranges::none_of(
          own, [&](const std::string& other) { return each.starts_with(other) || other.starts_with(each); });
    });
  }
  return without_effect_on("these plans", std::move(named).value_or(std::vector<std::string>()));
}

/// If the user interrupted the command, says how many of the questions have an answer.
void warn_of_interruption(std::size_t answered, std::size_t asked, Report& report) {
  if (!Interrupt::asked()) return;
  report.warnings.push_back(fmt::format("interrupted: {} of {} were searched, the last of them partially", answered, asked));
  report.status = ExitStatus::interrupted;
}

}  // namespace

Report recommend_each(const RecommendOptions& options, const Command& command) {
  refuse_about_one(command, "one model and one machine, but there are several",
                   "leave the option out, or name one model and one machine");
  std::vector<StudyOutcome> outcomes;
  const Interrupt interrupt;
  for (const NamedStudy& each : studies_named(options.study)) {
    if (Interrupt::asked()) break;
    RecommendOptions one = options;
    one.study.model = each.model;
    one.study.machine = each.machine;
    if (each.gpus) one.plan.gpus = each.gpus;
    one.top = 1;
    outcomes.push_back(outcome_of(one, command));
    if (each.gpus) outcomes.back().machine += fmt::format(":{}", *each.gpus);
  }
  std::vector<std::shared_ptr<Study>> studies;
  for (const StudyOutcome& each : outcomes) studies.push_back(each.study);
  const std::vector<std::string> warnings = without_effect_on_all(options.plan, outcomes);
  Report report = compare_studies(std::move(outcomes));
  report.warn(warnings);
  for (const auto& study : studies) {
    if (study) report.warn(study->warnings());
  }
  warn_of_interruption(studies.size(), studies_named(options.study).size(), report);
  return report;
}

Report recommend_scaling(const RecommendOptions& options, const Command& command) {
  const bool is_list = !options.plan.gpu_counts.empty() || !options.plan.global_batches.empty();
  if (studies_named(options.study).size() > 1) {
    if (is_list) throw Error("several numbers of GPUs or batches need one model and one machine", "name one of each");
    throw Error(fmt::format("{} needs one model and one machine", options.goals.budget ? "--budget" : "--deadline"),
                "study each model and machine separately, or leave the option out to compare times and costs");
  }
  if (options.plan.name_plan())
    throw Error("one plan has one number of GPUs and one batch", "leave --plan and --degrees out");
  if (options.goals.any() && !is_list) {
    refuse_about_one(command, "one answer, but --deadline and --budget compare only best plans",
                     "leave the option out, or leave the deadline and the budget out");
  }
  refuse_about_one(command, "one number of GPUs and one batch, but there are several",
                   "leave the option out, or use one number of GPUs");
  Machine machine = load_machine(options.study.machine);
  apply_price(options.study.prices, machine);
  refuse_goals(options, machine);
  std::vector<std::int64_t> counts = options.plan.gpu_counts, batches = options.plan.global_batches;
  if (options.plan.gpus) counts = {*options.plan.gpus};
  if (counts.empty()) counts = usual_gpu_counts(machine);
  ScalingQuestion question;
  question.goals = options.goals;
  question.fixed_batch = !batches.empty() || options.plan.global_batch;
  std::vector<StudyOutcome> points;
  const Interrupt interrupt;
  const std::size_t rows = std::max<std::size_t>(batches.size(), 1);
  for (std::size_t i = 0; i < rows; ++i) {
    for (const std::int64_t gpus : counts) {
      if (Interrupt::asked()) break;
      RecommendOptions one = options;
      one.plan.gpus = gpus;
      if (!batches.empty()) one.plan.global_batch = batches[i];
      one.top = 1;
      StudyOutcome point = outcome_of(one, command);
      point.gpus = gpus;
      if (!point.study && one.plan.global_batch) point.global_batch = *one.plan.global_batch;
      points.push_back(std::move(point));
    }
  }
  const std::size_t answered = points.size();
  const std::vector<std::string> warnings = without_effect_on_all(options.plan, points);
  Report report = scaling_report(std::move(points), question);
  report.warn(warnings);
  warn_of_interruption(answered, rows * counts.size(), report);
  return report;
}
}  // namespace ddl
