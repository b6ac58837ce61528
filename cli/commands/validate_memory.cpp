#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "calibration/runs/memory_validation.hpp"
#include "cli/commands/commands.hpp"
#include "cli/options/option_value.hpp"
#include "cli/options/study_options.hpp"
#include "cli/report/fields.hpp"
#include "cli/report/figures.hpp"
#include "cli/sentences/sentences.hpp"
#include "core/error.hpp"
#include "core/source_text.hpp"
#include "core/units.hpp"

namespace ddl {
namespace {

struct ValidateMemoryOptions {
  std::string runs = "known-outcomes", machine = "dgx-a100", software;
  std::vector<std::string> where;
  std::optional<double> tolerance;
};

std::string count_or_dash(int count) { return count > 0 ? std::to_string(count) : "-"; }
std::string percent_of(double share) { return fmt::format("{:.1f} %", 100 * share); }

/// Verdicts and errors by group.
Table verdict_table(const std::string& name, const std::map<std::string, MemoryGroup>& groups) {
  Table table({words(name), figures("runs"), figures("refused and ran"), figures("FITS and failed"), figures("AT-RISK"),
               figures("mean |error|"), figures("of figures")});
  for (const auto& [key, group] : groups) {
    table.add({key.empty() ? "-" : key, std::to_string(group.runs), count_or_dash(group.refused_and_ran),
               count_or_dash(group.fits_and_failed), count_or_dash(group.at_risk),
               group.figures > 0 ? percent_of(group.mean_error) : "-", count_or_dash(group.figures)});
  }
  return table;
}

std::string outcome_text(const MemoryCase& one) {
  if (one.is_out_of_memory()) return "out of memory";
  return one.error() ? fmt::format("{:.4g} GiB", one.run.value) : "ran";
}

/// Returns what makes a wrong verdict: how far the memory is from the device's, and the largest item.
std::string wrong_text(const MemoryCase& one) {
  if (!one.is_wrong()) return {};
  const MemoryBreakdown& memory = one.predicted->memory;
  const Bytes device = one.predicted->device;
  const MemoryItem item = memory.largest();
  const std::string of_largest = fmt::format("{} {}", humanize(memory.of(item)), to_string(item));
  if (one.is_out_of_memory())
    return fmt::format("wrong: {} of the device left, {}", humanize(device - memory.upper_bound()), of_largest);
  return fmt::format("wrong: {} above the device, {}", humanize(memory.total() - device), of_largest);
}

Table memory_case_table(const std::vector<MemoryCase>& cases) {
  Table table({essential(words("model")), essential(words("plan")), figures("GPUs"), words("machine"),
               essential(words("outcome")), words("figure"), essential(figures("predicted")), figures("at most"),
               figures("error"), essential(words("verdict")), prose("note")});
  for (const MemoryCase& one : cases) {
    const std::optional<double> error = one.error();
    const bool known = one.predicted.has_value();
    const std::string note = one.refusal ? describe(*one.refusal) : wrong_text(one);
    table.add({one.run.model, one.run.degrees.empty() ? one.run.strategy : one.run.degrees,
               one.run.gpus ? std::to_string(*one.run.gpus) : "-", one.run.machine, outcome_text(one),
               error ? one.run.quantity : "-", known ? humanize(one.figure().value_or(one.predicted->memory.total())) : "-",
               known ? humanize(one.predicted->memory.upper_bound()) : "-",
               error ? fmt::format("{:+.1f} %", 100 * *error) : "-",
               known ? std::string(to_string(one.predicted->verdict)) : "-", note});
  }
  return table;
}

Json json_of_group(const MemoryGroup& group) {
  return {{"runs", group.runs},
          {"unpredicted", group.unpredicted},
          {"refused_and_ran", group.refused_and_ran},
          {"fits_and_failed", group.fits_and_failed},
          {"at_risk", group.at_risk},
          {"figures", group.figures},
          {"mean_absolute_error", group.figures > 0 ? Json(group.mean_error) : Json(nullptr)}};
}

Json json_of_cases(const std::vector<MemoryCase>& cases) {
  return json_list(cases, [](const MemoryCase& one) -> Json {
    const bool known = one.predicted.has_value();
    const auto bytes = [&](Bytes value) { return known ? Json(value.value()) : Json(nullptr); };
    const MemoryBreakdown memory = known ? one.predicted->measured : MemoryBreakdown{};
    return {{"model", one.run.model},
            {"kind", kind_of(one)},
            {"set", one.run.set},
            {"gpus", or_null(one.run.gpus)},
            {"quantity", one.run.quantity},
            {"value", one.run.value},
            {"allocated_bytes", bytes(memory.allocated())},
            {"reserved_bytes", bytes(memory.peak_reserved)},
            {"total_bytes", bytes(memory.total())},
            {"upper_bound_bytes", bytes(known ? one.predicted->memory.upper_bound() : Bytes{})},
            {"device_bytes", known ? Json(one.predicted->device.value()) : Json(nullptr)},
            {"verdict", known ? Json(to_string(one.predicted->verdict)) : Json(nullptr)},
            {"wrong", one.is_wrong()},
            {"error", or_null(one.error())},
            {"reason", one.refusal ? Json(describe(*one.refusal)) : Json(nullptr)},
            {"origin", one.run.origin}};
  });
}

Report validate_memory(const ValidateMemoryOptions& options) {
  const std::vector<MeasuredRun> loaded = load_runs(options.runs);
  std::vector<RunFilter> filters;
  for (const std::string& where : options.where) filters.push_back(parse_where(where));
  const std::vector<MeasuredRun> runs = select_runs(loaded, filters);
  if (runs.empty())
    throw Error(fmt::format("no run of {} is left", quote(options.runs)), hint_without_runs(loaded, filters));
  const auto cases = std::make_shared<const std::vector<MemoryCase>>(memory_cases(runs, options.machine, options.software));
  const auto summary = std::make_shared<const MemorySummary>(summarize_memory(*cases));
  const MemoryGroup& all = summary->all;
  const int known = all.runs - all.unpredicted;
  const double wrong = known > 0 ? static_cast<double>(all.wrong()) / known : 0.0;
  const double risk = known > 0 ? static_cast<double>(all.at_risk) / known : 0.0;
  Report report;
  report.document.line(fmt::format("{} of {} verdicts are wrong ({})", all.wrong(), known, percent_of(wrong)),
                       fmt::format(": {} refused and ran, {} FITS and failed; {} AT-RISK ({})", all.refused_and_ran,
                                   all.fits_and_failed, all.at_risk, percent_of(risk)));
  if (all.figures > 0) {
    report.document.line(fmt::format("{} of memory: mean |error| {}", count_text(all.figures, "measured figure"),
                                     percent_of(all.mean_error)));
  }
  if (all.unpredicted > 0) report.document.line(fmt::format("runs without prediction: {}; see the notes", all.unpredicted));
  report.document.apart(verdict_table("kind", summary->by_kind));
  report.document.apart(verdict_table("set", summary->by_set));
  if (!summary->by_figure.empty()) report.document.apart(verdict_table("figure", summary->by_figure));
  report.document.apart(memory_case_table(*cases));
  report.rows = [cases] { return json_of_cases(*cases); };
  report.json = [cases, summary] {
    Json json = json_head();
    const auto groups = [](const std::map<std::string, MemoryGroup>& named) {
      Json list = Json::object();
      for (const auto& [name, group] : named) list[name] = json_of_group(group);
      return list;
    };
    json["summary"] = json_of_group(summary->all);
    json["by_kind"] = groups(summary->by_kind);
    json["by_set"] = groups(summary->by_set);
    json["by_figure"] = groups(summary->by_figure);
    json["cases"] = json_of_cases(*cases);
    return json;
  };
  if (options.tolerance && wrong > *options.tolerance) report.status = ExitStatus::beyond_tolerance;
  return report;
}

}  // namespace

void add_validate_memory(const Command& validate_command, Request& request) {
  const Command command =
      validate_command.add_subcommand("memory", "compare predicted memory with runs whose outcome is known");
  const auto options = std::make_shared<ValidateMemoryOptions>();
  command.examples({{"ddl-oracle validate memory", "verdicts for the bundled runs, by kind of model and by source"},
                    {"ddl-oracle validate memory published-runs", "whether runs with a measured time are predicted to fit"},
                    {"ddl-oracle validate memory runs.csv --tolerance 0.01", "exit status 1 if more than 1 % are wrong"}});
  command.add_option("runs", options->runs, "table of runs: a CSV file, or a bundled one").file().capture_default_str();
  command.add_option("--machine", options->machine, "machine of runs without a machine").capture_default_str();
  add_software_option(command, options->software);
  command.add_repeated("--where", options->where, "use only rows whose column has one of these values: set=litgpt",
                       "COLUMN=VALUES");
  add_number(command, "--tolerance", options->tolerance, 0, 1, "maximum share of wrong verdicts for exit status 0");
  add_report_options(command, request.report, {Content::rows});
  request.on_choice(command, [options] { return validate_memory(*options); });
}

}  // namespace ddl
