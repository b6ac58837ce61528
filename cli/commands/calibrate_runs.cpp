#include <filesystem>
#include <memory>

#include <fmt/format.h>

#include "calibration/learning/learned_file.hpp"
#include "calibration/learning/run_fit.hpp"
#include "cli/commands/coefficients_output.hpp"
#include "cli/commands/commands.hpp"
#include "cli/options/study_options.hpp"
#include "cli/report/fields.hpp"
#include "core/error.hpp"
#include "core/source_text.hpp"
#include "core/version.hpp"

namespace ddl {
namespace {

/// The options of `calibrate runs`, which fits correction factors to measured training runs.
struct RunsRequest {
  std::string runs, coefficients, software, machine, output;
  std::vector<std::string> where;
  ProfileChoice profiles;
};

/// Returns the options that choose profiles, as words of a command line.
std::vector<std::string> profile_words(const ProfileChoice& profiles) {
  std::vector<std::string> words;
  for (const std::string& file : profiles.files) words.insert(words.end(), {"--profile", file});
  if (profiles.any_device) words.emplace_back("--any-device");
  return words;
}

std::string value_text(Coefficient what, double value) {
  const CoefficientUnit unit = row_of(what).unit;
  if (unit == CoefficientUnit::seconds) return fmt::format("{:.3g} ms", value * 1e3);
  if (unit == CoefficientUnit::seconds_per_byte) return fmt::format("{:.3g} s/GB", value * 1e9);
  return fmt::format("{:.3g}", value);
}

Document document_of(const RunFit& fit, const RunsRequest& asked) {
  Document document;
  std::string where = " on " + asked.machine;
  if (fit.left_out > 0) {
    where += fmt::format("; left out, because not whole steps of several devices or not predictable: {}", fit.left_out);
  }
  document.line(fmt::format("fitted to {} runs", fit.runs), where);
  Table coefficients({words("family"), figures("runs"), figures("misfit"), words("coefficient"), figures("value"),
                      figures("from"), figures("to"), words("decided by")});
  for (const FamilyFit& family : fit.families) {
    bool first = true;
    for (const LearnedCoefficient& one : family.coefficients) {
      coefficients.add({first ? family_name(family.family) : "", first ? std::to_string(family.runs) : "",
                        first ? fmt::format("{:.1f} %", family.misfit * 100) : "", std::string(to_string(one.what)),
                        value_text(one.what, one.value), value_text(one.what, one.low), value_text(one.what, one.high),
                        one.determined() ? "runs" : "prior"});
      first = false;
    }
  }
  document.apart(std::move(coefficients));
  Table choices({words("software"), words("was"), words("is"), words("decided by")});
  for (const LearnedChoice& choice : fit.choices) {
    choices.add({choice.key, choice.before, choice.after, choice.determined() ? "runs" : "file"});
  }
  document.apart(std::move(choices));
  if (!asked.output.empty()) document.apart(Line{{{"written to " + asked.output}}});
  return document;
}

Json json_of(const RunFit& fit, const RunsRequest& asked) {
  Json json{{"schema", 1}, {"machine", asked.machine}, {"runs", fit.runs}, {"left_out", fit.left_out}};
  json["families"] = json_list(fit.families, [](const FamilyFit& family) {
    Json one{{"family", family_name(family.family)}, {"runs", family.runs}, {"misfit", family.misfit}};
    one["coefficients"] = json_list(family.coefficients, [](const LearnedCoefficient& each) -> Json {
      return {{"name", to_string(each.what)},
              {"value", each.value},
              {"low", each.low},
              {"high", each.high},
              {"narrowing", each.narrowing},
              {"determined", each.determined()}};
    });
    return one;
  });
  json["software"] = json_list(fit.choices, [](const LearnedChoice& choice) -> Json {
    return {{"key", choice.key},
            {"before", choice.before},
            {"after", choice.after},
            {"margin", choice.margin},
            {"determined", choice.determined()}};
  });
  return json;
}

Report calibrate_from_runs(const RunsRequest& asked) {
  std::vector<RunFilter> filters;
  for (const std::string& where : asked.where) filters.push_back(parse_where(where));
  const std::vector<MeasuredRun> all = load_runs(asked.runs);
  const std::vector<MeasuredRun> runs = select_runs(all, filters);
  if (runs.empty()) throw Error(fmt::format("no run of {} is left", quote(asked.runs)), hint_without_runs(all, filters));
  std::string before, begin_with = asked.coefficients;
  if (!asked.output.empty()) {
    before = coefficients_to_extend(asked.output, asked.machine, asked.coefficients);
    // The measured runs are predicted with the coefficients in the output file, such as those of a measured network.
    if (std::filesystem::exists(asked.output)) {
      begin_with = (std::filesystem::path(".") / asked.output).string();
    }
  }
  RunFitter fitter(runs, asked.machine, begin_with, asked.profiles, asked.software);
  const auto fit = std::make_shared<RunFit>(fitter.fit());
  if (fit->runs == 0) {
    throw Error(fmt::format("no run of {} can be used for fitting", quote(asked.runs)),
                "a run needs a known model, a strategy, several GPUs, a batch and the quantity iter_total_s");
  }
  if (!asked.output.empty()) {
    const std::string citation =
        fmt::format("{} runs of {}, fitted by ddl-oracle {} on {}", fit->runs, asked.runs, version(), today());
    write_over(asked.output, with_learned(before, *fit, citation));
  }
  Report report;
  report.warnings = fitter.warnings();
  report.document = document_of(*fit, asked);
  report.json = [fit, asked] { return json_of(*fit, asked); };
  return report;
}

}  // namespace

void add_calibrate_runs(const Command& calibrate, Request& request) {
  const Command command = calibrate.add_subcommand("runs", "fit correction factors to measured training runs");
  const auto asked = std::make_shared<RunsRequest>();
  command.examples(
      {{"ddl-oracle calibrate runs runs.csv --machine dgx-a100", "factors fitted to the runs"},
       {"ddl-oracle calibrate runs runs.csv --machine dgx-a100 -o ours.yaml",
        "the fitted factors as a file of coefficients"},
       {"ddl-oracle calibrate runs paradl-abci --machine abci --where model=vgg16", "from some rows of a bundled table"}});
  command
      .add_option("table", asked->runs,
                  "measured training runs: a CSV file, or a bundled table (paradl-abci, vtrain-a100-node, …)")
      .required();
  command.add_repeated("--where", asked->where, "use only runs whose column has one of these values: quality=A,B",
                       "COLUMN=VALUES");
  command.add_option("--coefficients", asked->coefficients,
                     "initial coefficients: a file, a bundled name or none; default: those of a bundled machine");
  add_profile_options(command, asked->profiles.files, asked->profiles.any_device);
  add_software_option(command, asked->software);
  command
      .add_option("--machine", asked->machine, "machine the measurements were taken on: a name, or a path to a machine file")
      .required();
  add_output_option(command, asked->output, "write the results into this coefficients file of the machine");
  add_format_option(command, request.report);
  request.on_choice(command, [asked, &request] {
    Report report = calibrate_from_runs(*asked);
    if (asked->output.empty()) {
      report.next.push_back(request.command + " -o learned.yaml");
      return report;
    }
    std::vector<std::string> next{"ddl-oracle",
                                  "validate",
                                  asked->runs,
                                  "--machine",
                                  asked->machine,
                                  "--coefficients",
                                  (std::filesystem::path(".") / asked->output).string()};
    const std::vector<std::string> profiles = profile_words(asked->profiles);
    next.insert(next.end(), profiles.begin(), profiles.end());
    return std::move(report).then(next);
  });
}

}  // namespace ddl
