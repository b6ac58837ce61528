#include "cli/documents/check.hpp"

#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "cli/commands/commands.hpp"
#include "cli/commands/job_check.hpp"
#include "cli/documents/steps.hpp"
#include "cli/options/study_options.hpp"
#include "core/error.hpp"
#include "core/source_text.hpp"

namespace ddl {
namespace {

struct CheckRequest {
  std::vector<std::string> files;
  MemoryOptions check;
};

Report check(const CheckRequest& options) {
  auto checks = std::make_shared<std::vector<JobCheck>>();
  Report report;
  for (const std::string& file : options.files) {
    JobCheck one = check_job(file, options.check);
    if (one.problem) report.errors.emplace_back(one.problem->message, one.problem->hint);
    if (one.study) report.warn(one.study->warnings());
    checks->push_back(std::move(one));
  }
  report.status = worst_status(*checks);
  report.document = checks_document(*checks);
  report.page = [checks] { return checks_document(*checks, true); };
  report.json = [checks] { return checks_to_json(*checks); };
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

}  // namespace

void add_check(const Command& program, Request& request) {
  const Command command = program.add_subcommand("check", "whether the training of a job file fits in memory, for CI");
  auto options = std::make_shared<CheckRequest>();
  command.examples({{"ddl-oracle check llama.job.yaml", "a verdict, and what would fit"},
                    {"ddl-oracle check a.job.yaml b.job.yaml --gpu-memory 40GiB --margin 5%",
                     "on GPUs with 40 GiB, of which 5 % stay free"},
                    {"ddl-oracle check llama.job.yaml --format junit -o memory.xml", "test results for CI"}});
  command.add_option("JOB", options->files, "job files; 'recommend --save-job FILE' writes one")
      .required()
      .take_all()
      .file();
  add_memory_options(command, options->check);
  add_report_options(command, request.report, {Content::verdicts, Content::steps});
  command.callback([options, &request] { request.run = [options] { return check(*options); }; });
}

}  // namespace ddl
