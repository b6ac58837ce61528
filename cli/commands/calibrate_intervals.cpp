#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "calibration/learning/bundled_error_rows.hpp"
#include "calibration/learning/reading_errors_fit.hpp"
#include "calibration/learning/time_errors_fit.hpp"
#include "calibration/runs/time_errors_file.hpp"
#include "cli/commands/coefficients_output.hpp"
#include "cli/commands/commands.hpp"
#include "cli/options/study_options.hpp"
#include "cli/report/fields.hpp"
#include "core/units.hpp"
#include "core/version.hpp"

namespace ddl {
namespace {

/// The options of `calibrate intervals`, which fits the errors of predicted times.
struct IntervalsRequest {
  std::string output;
};

std::string whole_percent(double part) { return fmt::format("{:.0f} %", part * 100); }

/// The coverage of intervals for runs whose software, device or network occurs in no other run.
Table groups_table(const TimeErrorsFile& file) {
  Table table({words("held out"), figures("groups"), figures("runs"), figures("covered"), figures("from"), figures("to"),
               words("15 runs or more, below 75 %")});
  for (const HeldOut by : enum_values<HeldOut>) {
    double runs = 0, held = 0, low = 0, high = 0;
    std::vector<std::string> below;
    for (const GroupCoverage& each : file.groups[by]) {
      runs += each.runs;
      held += each.runs * each.held;
      low += each.runs * std::log(each.mean.low);
      high += each.runs * std::log(each.mean.high);
      if (each.runs >= 15 && each.held < 0.75) below.push_back(fmt::format("{} {}", each.name, whole_percent(each.held)));
    }
    if (runs <= 0) continue;
    table.add({fmt::format("each {}", held_out_names[by]), std::to_string(file.groups[by].size()),
               fmt::format("{:.0f}", runs), whole_percent(held / runs), fmt::format("{:.2f}x", std::exp(low / runs)),
               fmt::format("{:.2f}x", std::exp(high / runs)), fmt::format("{}", fmt::join(below, "; "))});
  }
  return table;
}

Document intervals_document(const TimeErrorsFile& file) {
  Document document;
  int runs = 0;
  for (const SetCoverage& set : file.coverage) runs += set.runs;
  document.line(fmt::format("intervals of {}", whole_percent(interval_level)),
                fmt::format(", fitted to {} runs of {} sets", with_thousands(runs), file.coverage.size()));
  document.line(
      fmt::format("interval scale {:.2f}: coverage {} on held-out sets", file.widened, whole_percent(interval_level)));
  if (file.ratios.pairs > 0) {
    document.line(fmt::format(
        "ratios of two step times: {} of {} pairs are covered, by intervals {:.2f} times as wide as for one time",
        whole_percent(file.ratios.held), with_thousands(file.ratios.pairs),
        file.ratios.mean_width / file.ratios.mean_single));
  }
  if (file.ratios.told_apart > 0) {
    document.line(fmt::format("distinguishable plans: {} of {} pairs with the same batch are in the measured order",
                              whole_percent(file.ratios.right), with_thousands(file.ratios.told_apart)));
  }
  if (file.stand_ins > 0) {
    document.line(
        fmt::format("software without measured runs: {} of {} predictions with settings of other software are covered",
                    whole_percent(file.stand_ins_held), with_thousands(file.stand_ins)));
  }
  if (file.reading_runs > 0) {
    document.line(fmt::format("steps that read images, volumes or sound: {} of {} runs are covered",
                              whole_percent(file.reading_held), with_thousands(file.reading_runs)));
  }
  if (file.learned_runs > 0) {
    document.line(fmt::format("with factors fitted to other runs: {} of {} runs are covered",
                              whole_percent(file.learned_held), with_thousands(file.learned_runs)));
  }
  if (file.beyond_runs > 0) {
    document.line(fmt::format("with factors fitted to runs on fewer devices: {} of {} runs are covered",
                              whole_percent(file.beyond_held), with_thousands(file.beyond_runs)));
  }
  if (std::ranges::any_of(file.groups, [](const auto& groups) { return !groups.empty(); }))
    document.apart(groups_table(file));
  Table table(
      {words("set"), figures("runs"), figures("held"), figures("covered, held out"), figures("from"), figures("to")});
  for (const SetCoverage& set : file.coverage) {
    table.add({set.set, std::to_string(set.runs), whole_percent(set.held), whole_percent(set.held_left_out),
               fmt::format("{:.2f}x", set.mean.low), fmt::format("{:.2f}x", set.mean.high)});
  }
  document.apart(std::move(table));
  return document;
}

Json width_to_json(const ErrorWidth& width) { return {{"faster", width.faster}, {"slower", width.slower}}; }

Json json_of(const TimeErrorsFile& fit) {
  Json json{{"schema", 1}, {"level", interval_level}, {"widened", fit.widened}};
  json["sets"] = json_list(fit.coverage, [](const SetCoverage& set) -> Json {
    return {{"set", set.set},           {"runs", set.runs},
            {"held", set.held},         {"held_left_out", set.held_left_out},
            {"mean_low", set.mean.low}, {"mean_high", set.mean.high}};
  });
  for (const HeldOut by : enum_values<HeldOut>) {
    if (by == HeldOut::set) continue;
    json["held_out"][std::string(held_out_names[by])] = json_list(fit.groups[by], [](const GroupCoverage& group) -> Json {
      return {{"name", group.name},
              {"runs", group.runs},
              {"held", group.held},
              {"mean_low", group.mean.low},
              {"mean_high", group.mean.high}};
    });
  }
  for (std::size_t i = 0; i < error_source_names.size(); ++i)
    json["widths"][std::string(error_source_names[i])] = width_to_json(fit.errors.sources[i]);
  for (std::size_t i = 0; i < model_class_names.size(); ++i)
    json["unexplained"][std::string(model_class_names[i])] = width_to_json(fit.errors.classes[i]);
  json["ratios"] = {{"pairs", fit.ratios.pairs},           {"held", fit.ratios.held},
                    {"told_apart", fit.ratios.told_apart}, {"right", fit.ratios.right},
                    {"mean_width", fit.ratios.mean_width}, {"mean_width_of_one", fit.ratios.mean_single}};
  json["software_without_runs"] = {{"predictions", fit.stand_ins},
                                   {"held", fit.stand_ins_held},
                                   {"faster", fit.errors.new_software.faster},
                                   {"slower", fit.errors.new_software.slower}};
  json["reading_samples"] = {{"runs", fit.reading_runs},
                             {"held", fit.reading_held},
                             {"faster", fit.errors.reading_samples.faster},
                             {"slower", fit.errors.reading_samples.slower}};
  json["learned"] = {{"runs", fit.learned_runs}, {"held", fit.learned_held}};
  json["learned_beyond"] = {{"runs", fit.beyond_runs}, {"held", fit.beyond_held}};
  return json;
}

TimeErrorsFile fitted_file() {
  const BundledErrorRows rows = bundled_error_rows();
  TimeErrorsFile file = fit_time_errors(rows.rows, rows.stand_ins, rows.learned);
  fit_reading_errors(file, rows.reading);
  int runs = 0;
  for (const SetCoverage& set : file.coverage) runs += set.runs;
  file.source = fmt::format(
      "all bundled tables of measured runs ({} runs of {} sets), each predicted with all known kernels, with those of other "
      "devices, with datasheets and with settings of other software, fitted by ddl-oracle {} on {}: quantiles, each set "
      "held out in turn; the factor of "
      "measured kernels is half of that of interpolated ones, and the correlation of kinds is assumed",
      runs, file.coverage.size(), version(), today());
  return file;
}

Report calibrate_intervals(const IntervalsRequest& asked) {
  const auto file = std::make_shared<TimeErrorsFile>(asked.output.empty() ? bundled_time_errors_file() : fitted_file());
  if (!asked.output.empty()) write_over(asked.output, print_time_errors(*file));
  Report report;
  report.document = intervals_document(*file);
  report.json = [file] { return json_of(*file); };
  report.rows = [file] { return json_of(*file).at("sets"); };
  return report;
}

}  // namespace

void add_calibrate_intervals(const Command& calibrate, Request& request) {
  const Command command =
      calibrate.add_subcommand("intervals", "share of measured runs inside the predicted intervals; fit of these intervals");
  const auto asked = std::make_shared<IntervalsRequest>();
  command.examples({{"ddl-oracle calibrate intervals", "coverage of the intervals, by set"},
                    {"ddl-oracle calibrate intervals --format csv", "coverage by set, as CSV"},
                    {"ddl-oracle calibrate intervals --format json", "coverage, and the widths of the intervals"}});
  add_output_option(command, asked->output, "fit the interval widths again (takes minutes), and write them to this file");
  add_format_option(command, request.report, {Content::rows});
  request.on_choice(command, [asked] { return calibrate_intervals(*asked); });
}

}  // namespace ddl
