#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "calibration/learning/run_fit.hpp"
#include "calibration/runs/scaling_errors.hpp"
#include "calibration/runs/validation.hpp"
#include "cli/commands/commands.hpp"
#include "cli/documents/intervals.hpp"
#include "cli/options/option_value.hpp"
#include "cli/options/study_options.hpp"
#include "cli/report/fields.hpp"
#include "cli/report/figures.hpp"
#include "cli/report/progress.hpp"
#include "cli/sentences/sentences.hpp"
#include "core/error.hpp"
#include "core/source_text.hpp"

namespace ddl {
namespace {

struct ValidateOptions {
  std::string runs, machine = "abci", coefficients, software;
  std::string by = "strategy";
  std::vector<std::string> where, profiles;
  bool any_device = false;
  std::optional<double> tolerance;
  bool leave_one_out = false;
  std::optional<std::int64_t> fit_up_to;
};

std::string signed_percent(std::optional<double> error) { return error ? fmt::format("{:+.1f} %", *error * 100) : "-"; }
std::string seconds(std::optional<Seconds> time) { return time ? fmt::format("{:.4g}", time->value()) : "-"; }
std::string tenths(double share) { return fmt::format("{:.1f} %", share * 100); }
std::string part(double share) { return fmt::format("{:.0f} %", share * 100); }
std::string tau_text(double tau) { return std::isnan(tau) ? "-" : fmt::format("{:.2f}", tau); }
Json number_or_null(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

/// Returns the mean error of the predicted cases in a group; empty if no case has a prediction.
std::optional<double> mean_error(const ValidationSummary::Group& group) {
  return group.predicted > 0 ? std::optional(group.mean_error) : std::nullopt;
}
std::optional<double> mean_absolute_error(const ValidationSummary::Group& group) {
  return group.predicted > 0 ? std::optional(group.mean_absolute_error) : std::nullopt;
}

bool misses_tolerance(const Validation& validation, const ValidateOptions& options) {
  return options.tolerance && 1.0 - validation.summary.overall.accuracy > *options.tolerance;
}

Table case_table(const Validation& validation) {
  Table table({essential(words("model")), essential(words("strategy")), essential(figures("GPUs")), words("quantity"),
               essential(figures("measured s")), essential(figures("predicted s")), essential(figures("error")),
               if_asked(figures("low s")), if_asked(figures("high s")), if_asked(figures("ideal s")),
               figures("error of ideal"), prose("note")});
  for (const ValidationCase& one : validation.cases) {
    table.add({one.run.model, one.run.strategy, one.run.gpus ? std::to_string(*one.run.gpus) : "-", one.run.quantity,
               fmt::format("{:.4g}", one.run.value), seconds(one.predicted), signed_percent(one.error()), seconds(one.low),
               seconds(one.high), seconds(one.ideal), signed_percent(one.ideal_error()),
               one.refusal ? describe(*one.refusal) : ""});
  }
  return table;
}

/// Errors by number of GPUs and by length of a step. Errors of opposite signs may cancel on average over all runs.
Table range_table(const ValidationSummary& summary) {
  Table table({words("range"), figures("cases"), figures("mean |error|"), figures("mean error"), figures("covered")});
  for (const std::vector<ValidationSummary::Range>* ranges : {&summary.by_gpus, &summary.by_length}) {
    if (ranges->size() < 2) continue;
    for (const auto& [name, group] : *ranges) {
      const std::optional<double> absolute = mean_absolute_error(group);
      table.add({name, std::to_string(group.cases), absolute ? tenths(*absolute) : "-", signed_percent(mean_error(group)),
                 group.coverage() ? part(*group.coverage()) : "-"});
    }
  }
  return table;
}

/// Returns the name of the machine on which the runs were measured, or the number of machines.
std::string machines_text(const Validation& validation, const ValidateOptions& options) {
  std::set<std::string> names;
  for (const ValidationCase& one : validation.cases)
    names.insert(one.run.machine.empty() ? options.machine : one.run.machine);
  return names.size() == 1 ? *names.begin() : fmt::format("{} machines", names.size());
}

/// Returns why runs would be refused: the items with most of their memory, and this memory divided by the device's.
std::string refused_text(const ValidationSummary::Group& group) {
  if (group.refused == 0) return "-";
  std::string items;
  for (const auto& [item, count] : group.refused_for)
    items += fmt::format("{}{} {}", items.empty() ? "" : ", ", count, to_string(item));
  return fmt::format("{}: {:.2f} of the device", items, group.filled / group.refused);
}

/// Adds the number of successful runs that the memory model would refuse, and the items that need most of their memory.
void add_refused(Document& document, const ValidationSummary::Group& all) {
  if (all.refused + all.at_risk == 0) return;
  document.line(fmt::format("memory: of {} that ran, {} would be refused (DOES-NOT-FIT), and {} would be AT-RISK",
                            count_text(all.with_verdict, "run"), all.refused, all.at_risk));
  std::string largest;
  for (const auto& [item, count] : all.refused_for)
    largest += fmt::format("{}{} ({})", largest.empty() ? "" : ", ", to_string(item), count);
  if (!largest.empty()) document.line("most of the memory of refused runs: " + largest);
}

Document document_of(const Validation& validation, const ValidateOptions& options) {
  const ValidationSummary& summary = validation.summary;
  const ScalingSummary scaling = scaling_errors(validation.cases, options.by);
  Document document;
  document.line(
      fmt::format("accuracy {:.3f}", summary.overall.accuracy),
      fmt::format(" over {} {} on {} (ideal projection {:.3f}); rank correlation {} (ideal {})", summary.overall.cases,
                  summary.overall.cases == 1 ? "case" : "cases", machines_text(validation, options),
                  summary.overall.ideal_accuracy, tau_text(summary.kendall_tau), tau_text(summary.ideal_kendall_tau)));
  if (const auto coverage = summary.overall.coverage()) {
    document.line(fmt::format("the {} covers {} of {}", interval_name(), part(*coverage),
                              count_text(summary.overall.with_interval, "run")));
  }
  if (summary.overall.first_cases > 0) {
    document.line(fmt::format("accuracy {:.3f} over {} that no fit had seen", summary.overall.first_accuracy,
                              count_text(summary.overall.first_cases, "run")));
  }
  if (scaling.overall.runs > 0) {
    document.line(fmt::format("scaling efficiency: mean |error| {}, median |error| {}, over {}",
                              tenths(scaling.overall.mean_absolute), tenths(scaling.overall.median_absolute),
                              count_text(scaling.overall.runs, "run")));
  }
  add_refused(document, summary.overall);
  const auto unpredicted =
      std::ranges::count_if(validation.cases, [](const ValidationCase& one) { return !one.predicted.has_value(); });
  if (summary.is_taught) {
    document.line(
        fmt::format("accuracy {:.3f} without fitted factors; if these runs were used for fitting, use --leave-one-out",
                    summary.overall.untaught_accuracy));
  }
  if (unpredicted > 0) document.line(fmt::format("cases without prediction: {}; see the notes", unpredicted));
  if (misses_tolerance(validation, options)) {
    document.line(fmt::format("mean |error| {:.4g} exceeds the tolerance of {:.4g}; a case without prediction counts as 1",
                              1.0 - summary.overall.accuracy, *options.tolerance));
  }
  std::vector<Column> columns{words(options.by),     figures("cases"),   figures("accuracy"),
                              figures("mean error"), figures("covered"), figures("accuracy of ideal")};
  if (scaling.overall.runs > 0) columns.push_back(figures("scaling error"));
  if (summary.overall.refused > 0) columns.push_back(words("refused, by largest item"));
  if (summary.is_taught) columns.push_back(figures("no fitted factors"));
  Table groups(columns);
  for (const auto& [name, group] : summary.groups) {
    std::vector<std::string> cells{name.empty() ? "-" : name,
                                   std::to_string(group.cases),
                                   fmt::format("{:.3f}", group.accuracy),
                                   signed_percent(mean_error(group)),
                                   group.coverage() ? part(*group.coverage()) : "-",
                                   fmt::format("{:.3f}", group.ideal_accuracy)};
    if (scaling.overall.runs > 0) {
      const auto found = scaling.groups.find(name);
      cells.push_back(found != scaling.groups.end() ? tenths(found->second.mean_absolute) : "-");
    }
    if (summary.overall.refused > 0) cells.push_back(refused_text(group));
    if (summary.is_taught) cells.push_back(fmt::format("{:.3f}", group.untaught_accuracy));
    groups.add(cells);
  }
  document.apart(std::move(groups));
  constexpr int enough_cases = 30;
  if (summary.overall.cases >= enough_cases && (summary.by_gpus.size() > 1 || summary.by_length.size() > 1))
    document.apart(range_table(summary));
  document.apart(case_table(validation));
  document.section();
  document.paragraph(
      "accuracy is 1 - |predicted/measured - 1|, 0 for a case without prediction; rank correlation is Kendall's tau-b of "
      "the time per sample within model and GPU count",
      0, 0);
  if (scaling.overall.runs > 0) {
    document.paragraph(
        "scaling error is the mean |error| of the parallel efficiency of data parallelism, relative to the same run on the "
        "fewest GPUs",
        0, 0);
  }
  return document;
}

Json json_of(const ScalingErrors& errors) {
  return {{"runs", errors.runs},
          {"mean_absolute_error", errors.mean_absolute},
          {"median_absolute_error", errors.median_absolute}};
}

Json json_of(const Validation& validation, const ValidateOptions& options) {
  const ScalingSummary scaling = scaling_errors(validation.cases, options.by);
  Json json;
  json["schema"] = 1;
  json["machine"] = options.machine;
  json["cases"] = json_list(validation.cases, [](const ValidationCase& one) -> Json {
    return {{"model", one.run.model},
            {"strategy", one.run.strategy},
            {"gpus", or_null(one.run.gpus)},
            {"quantity", one.run.quantity},
            {"measured_s", one.run.value},
            {"predicted_s", or_null(one.predicted)},
            {"ideal_s", or_null(one.ideal)},
            {"untaught_s", or_null(one.untaught)},
            {"error", or_null(one.error())},
            {"predicted_low_s", or_null(one.low)},
            {"predicted_high_s", or_null(one.high)},
            {"held", or_null(one.is_held())},
            {"verdict", one.verdict ? Json(to_string(*one.verdict)) : Json(nullptr)},
            {"reason", one.refusal ? Json(describe(*one.refusal)) : Json(nullptr)},
            {"origin", one.run.origin}};
  });
  const ValidationSummary& summary = validation.summary;
  Json groups = Json::object();
  for (const auto& [name, group] : summary.groups) {
    groups[name] = {{"cases", group.cases},
                    {"predicted", group.predicted},
                    {"accuracy", group.accuracy},
                    {"ideal_accuracy", group.ideal_accuracy},
                    {"mean_error", or_null(mean_error(group))},
                    {"mean_absolute_error", or_null(mean_absolute_error(group))},
                    {"coverage", or_null(group.coverage())},
                    {"refused", group.refused},
                    {"at_risk", group.at_risk}};
    if (const auto found = scaling.groups.find(name); found != scaling.groups.end())
      groups[name]["scaling_efficiency"] = json_of(found->second);
  }
  const auto ranges = [](const std::vector<ValidationSummary::Range>& all) {
    Json list = Json::object();
    for (const auto& [name, group] : all) {
      list[name] = {{"cases", group.cases},
                    {"mean_error", or_null(mean_error(group))},
                    {"mean_absolute_error", or_null(mean_absolute_error(group))},
                    {"coverage", or_null(group.coverage())}};
    }
    return list;
  };
  json["summary"] = {
      {"cases", summary.overall.cases},
      {"accuracy", summary.overall.accuracy},
      {"ideal_accuracy", summary.overall.ideal_accuracy},
      {"interval_level", interval_level},
      {"coverage", or_null(summary.overall.coverage())},
      {"first_cases", summary.overall.first_cases},
      {"first_accuracy", summary.overall.first_cases > 0 ? Json(summary.overall.first_accuracy) : Json(nullptr)},
      {"refused", summary.overall.refused},
      {"at_risk", summary.overall.at_risk},
      {"untaught_accuracy", summary.is_taught ? Json(summary.overall.untaught_accuracy) : Json(nullptr)},
      {"scaling_efficiency", scaling.overall.runs > 0 ? json_of(scaling.overall) : Json(nullptr)},
      {"by_" + options.by, groups},
      {"by_number_of_gpus", ranges(summary.by_gpus)},
      {"by_step_length", ranges(summary.by_length)},
      {"kendall_tau", number_or_null(summary.kendall_tau)},
      {"ideal_kendall_tau", number_or_null(summary.ideal_kendall_tau)}};
  return json;
}

Validation validate_as_asked(const std::vector<MeasuredRun>& runs, const ValidateOptions& options) {
  const ProfileChoice profiles{options.profiles, options.any_device};
  LateProgress progress("runs");
  const BeforeRun before_run = [&](std::size_t done, std::size_t all) { progress.show(done, all); };
  if (!options.leave_one_out && !options.fit_up_to) {
    return validate(runs, options.machine, options.coefficients, profiles, options.software, options.by, before_run);
  }
  RunFitter fitter(runs, options.machine, options.coefficients, profiles, options.software);
  Validation validation =
      options.leave_one_out ? fitter.leave_one_out(before_run) : fitter.fit_up_to(static_cast<int>(*options.fit_up_to));
  validation.summary = summarize(validation.cases, options.by);
  return validation;
}

/// Throws Error if no run has a prediction. The message lists each reason once, with the first run that has this reason.
void refuse_unpredicted(const std::vector<ValidationCase>& cases) {
  const auto is_predicted = [](const ValidationCase& each) { return each.predicted.has_value(); };
  if (std::ranges::any_of(cases, is_predicted)) return;
  constexpr std::size_t most_reasons = 5;
  std::map<std::string, std::string> first_of;
  std::vector<std::string> reasons;
  for (const ValidationCase& each : cases) {
    const std::string why = each.refusal ? describe(*each.refusal) : std::string("unknown reason");
    if (first_of.emplace(why, each.run.origin).second) reasons.push_back(why);
  }
  std::string others;
  for (std::size_t i = 1; i < std::min(reasons.size(), most_reasons); ++i)
    others += fmt::format("{}{}: {}", others.empty() ? "" : "; ", visible(first_of.at(reasons[i])), reasons[i]);
  if (reasons.size() > most_reasons) others += fmt::format("; and {} more reasons", reasons.size() - most_reasons);
  throw Error(fmt::format("{}: no run could be predicted: {}", visible(first_of.at(reasons.front())), reasons.front()),
              others.empty() ? "see docs/runs.md for the format of a row" : "other rows have other reasons: " + others);
}

Report run(const ValidateOptions& options) {
  check_column(options.by);
  const std::vector<MeasuredRun> all = load_runs(options.runs);
  std::vector<RunFilter> filters;
  for (const std::string& where : options.where) filters.push_back(parse_where(where));
  if (all.empty())
    throw Error(fmt::format("{} has no runs", quote(options.runs)), "write one measured run per row after the header");
  const std::vector<MeasuredRun> runs = select_runs(all, filters);
  if (runs.empty()) throw Error(fmt::format("no run of {} is left", quote(options.runs)), hint_without_runs(all, filters));
  const auto validation = std::make_shared<Validation>(validate_as_asked(runs, options));
  refuse_unpredicted(validation->cases);
  Report report;
  report.warnings = validation->warnings;
  const auto is_step = [](const MeasuredRun& each) { return each.quantity == "iter_total_s"; };
  if ((options.leave_one_out || options.fit_up_to) && std::ranges::none_of(runs, is_step))
    report.warnings.emplace_back(
        "no factor is fitted: only runs of the quantity iter_total_s can be fitted to, and --where leaves none");
  report.document = document_of(*validation, options);
  report.json = [validation, options] { return json_of(*validation, options); };
  report.rows = [validation, options] { return json_of(*validation, options).at("cases"); };
  if (misses_tolerance(*validation, options)) report.status = ExitStatus::beyond_tolerance;
  return report;
}

}  // namespace

void add_validate(const Command& program, Request& request) {
  const Command command = program.add_subcommand("validate", "compare predictions with measured runs");
  auto options = std::make_shared<ValidateOptions>();
  command.examples(
      {{"ddl-oracle validate runs.csv --machine dgx-a100", "the error of predictions for your own runs"},
       {"ddl-oracle validate paradl-abci --by model", "the error for published runs, by model"},
       {"ddl-oracle validate runs.csv --machine dgx-a100 --leave-one-out", "with factors fitted to the other runs"}});
  command
      .add_option("runs", options->runs,
                  "table of runs: a CSV file with the columns model, strategy, gpus, global_batch, quantity and value, or a "
                  "bundled table (paradl-abci)")
      .file();
  command.add_option("--machine", options->machine, "machine of runs without a machine").capture_default_str();
  command.add_option("--coefficients", options->coefficients,
                     "measured coefficients: a file, a bundled name or none; default: those bundled with a bundled machine");
  add_software_option(command, options->software);
  add_profile_options(command, options->profiles, options->any_device);
  command.add_repeated("--where", options->where, "use only rows whose column has one of these values: quality=A,B",
                       "COLUMN=VALUES");
  command.add_option("--by", options->by, "column by which the summary is grouped", "COLUMN").capture_default_str();
  add_number(command, "--tolerance", options->tolerance, 0, 1e6, "maximum mean |error| for exit status 0");
  const Option leave = command.add_switch("--leave-one-out", options->leave_one_out,
                                          "predict each configuration with factors fitted to all other configurations");
  add_whole_number(command, "--fit-up-to", options->fit_up_to, 1, 1'000'000,
                   "fit to runs on at most this many GPUs, and predict runs on more")
      .excludes(leave);
  add_report_options(command, request.report);
  command.allow_subcommand();
  add_validate_kernels(command, request);
  add_validate_memory(command, request);
  command.callback([options, command, &request] {
    if (command.has_chosen_subcommand()) return;
    if (options->runs.empty()) {
      throw Error("validate needs a table of measured runs",
                  "a CSV file, or a bundled one: 'ddl-oracle validate paradl-abci'");
    }
    request.run = [options] {
      return run(*options).then(
          {"ddl-oracle", "calibrate", "runs", options->runs, "--machine", options->machine, "-o", "learned.yaml"});
    };
  });
}

}  // namespace ddl
