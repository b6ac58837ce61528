#include "cli/documents/check.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "cli/commands/commands.hpp"
#include "cli/commands/job_check.hpp"
#include "cli/commands/search_watch.hpp"
#include "cli/options/configurations/configuration.hpp"
#include "cli/options/option_value.hpp"
#include "cli/options/study_options.hpp"
#include "cli/report/fields.hpp"
#include "cli/report/figures.hpp"
#include "cli/report/interrupt.hpp"
#include "cli/report/steps.hpp"
#include "core/error.hpp"
#include "core/plausible.hpp"
#include "core/source_text.hpp"
#include "core/units.hpp"

namespace ddl {
namespace {

struct CheckRequest {
  std::vector<std::string> files;
  CheckOptions check;
  std::string against;
  std::optional<Bytes> most_increase;
  bool allow_risk = false;
};

Report check(CheckRequest options) {
  options.check.has_configurations = std::ranges::any_of(options.files, is_configuration);
  auto checks = std::make_shared<std::vector<JobCheck>>();
  Report report;
  const Interrupt interrupt;  // Ctrl-C ends searches for changes, and verdicts are printed
  std::optional<Growth> growth;
  if (!options.against.empty()) {
    CheckOptions verdict_alone = options.check;
    verdict_alone.time_limit = Seconds{};
    growth = Growth{std::make_shared<const JobCheck>(check_job(options.against, verdict_alone)), options.most_increase};
    const auto& problem = growth->earlier->problem;
    if (problem) throw Error(problem->message, problem->hint);
  }
  for (const std::string& file : options.files) {
    JobCheck one = check_job(file, options.check);
    one.growth = growth;
    one.allows_risk = options.allow_risk;
    if (one.problem) report.errors.emplace_back(one.problem->message, one.problem->hint);
    if (one.study) report.warn(one.study->warnings());
    report.warn(one.notes);
    checks->push_back(std::move(one));
  }
  report.status = Interrupt::asked() && !TimeLimit::is_set() ? ExitStatus::interrupted : worst_status(*checks);
  report.document = checks_document(*checks);
  report.page = [checks] { return checks_document(*checks, true); };
  report.json = [checks] { return checks_to_json(*checks); };
  report.rows = [checks] { return checks_rows(*checks); };
  report.verdicts = verdicts_of(*checks);
  report.steps = [checks] {
    std::vector<NamedStep> steps;
    for (const JobCheck& one : *checks) {
      if (one.problem) continue;
      steps.push_back(named_step(Estimator(one.study->job()), one.checked.estimate.plan));
      steps.back().name = fmt::format("{}: {}", visible(one.file), steps.back().name);
    }
    return steps;
  };
  return report;
}

/// The options for facts that a configuration may lack.
constexpr std::array configured_options{"--model",         "--seq",           "--input-shape", "--machine", "--coefficients",
                                        "--software",      "--precision",     "--optimizer",   "--gpus",    "--global-batch",
                                        "--batch-per-gpu", "--micro-batches", "--set",         "--setting"};

void add_configured_options(const Command& command, CheckOptions& options) {
  StudyOptions& study = options.study;
  PlanOptions& plan = options.plan;
  command.add_option("--model", study.model, "model, if a configuration does not name it: one of 'models list' or a file");
  add_sample_options(command, study.sequence, study.input_shape);
  command.add_option("--machine", study.machine, "machine of a configuration: one of 'machines list' or a file")
      .capture_default_str();
  command.add_option("--coefficients", study.coefficients, "measured coefficients of the machine of a configuration");
  add_software_option(command, study.software);
  command.add_option("--precision", study.precision,
                     "precision of a configuration: fp32, tf32, fp16, bf16, fp8, nvfp4, mxfp8, mxfp6, mxfp4 or int8");
  command.add_option("--optimizer", study.optimizer, "optimizer of a configuration: see 'recommend --help'");
  add_batch_options(command, plan);
  add_set_option(command, options.set_words);
  add_setting_words(command, study.setting_words);
}

}  // namespace

void add_check(const Command& program, Request& request) {
  const Command command =
      program.add_subcommand("check", "check whether the training of a job file or configuration fits in memory, for CI");
  auto options = std::make_shared<CheckRequest>();
  command.examples({{"ddl-oracle check llama.job.yaml", "a verdict, and what would fit"},
                    {"ddl-oracle check new.job.yaml --against old.job.yaml --max-increase 2GiB",
                     "what grew, with exit status 1 if memory grew by more than 2 GiB"},
                    {"ddl-oracle check llama.job.yaml --format junit -o memory.xml", "test results for CI"}});
  command
      .add_option("job", options->files,
                  "job files, as 'recommend --save-job FILE' writes, and configurations of other tools")
      .required()
      .take_all()
      .file();
  const Option against =
      command.add_option("--against", options->against, "compare with this job file: what grew, and by how much").file();
  const auto parse = [](const std::string& text, UnitProblem& problem) {
    return parse_plausible(text, plausible_memory, problem);
  };
  add_parsed(command, "--max-increase", options->most_increase, parse, "use for example 2GiB", "SIZE",
             "exit status 1 if a job needs more memory than the job of --against by more than this, such as 2GiB")
      .needs(against);
  command.add_switch("--allow-risk", options->allow_risk, "a job at risk passes: exit status 0");
  add_time_limit(command, options->check.time_limit).default_str("10s for each job");
  add_memory_options(command, options->check.memory);
  add_configured_options(command, options->check);
  add_report_options(command, request.report, {Content::rows, Content::verdicts, Content::steps});
  request.on_choice(command, [options, command, &request] {
    for (const char* option : configured_options) {
      if (command.count(option) > 0) options->check.given.emplace_back(option);
    }
    Report report = check(*options);
    report.next.push_back(request.command + " --format junit -o memory.xml");
    return report;
  });
}

}  // namespace ddl
