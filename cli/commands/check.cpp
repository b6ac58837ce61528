#include "cli/documents/check.hpp"

#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "cli/commands/commands.hpp"
#include "cli/commands/job_check.hpp"
#include "cli/options/study_options.hpp"
#include "core/error.hpp"
#include "core/source_text.hpp"

namespace ddl {
namespace {

struct CheckRequest {
  std::vector<std::string> files;
  CheckOptions check;
};

/// Ends the command: `text`, given to the option, is not what it takes.
[[noreturn]] void refuse(const char* option, const UnitProblem& problem) {
  throw Error(fmt::format("{}: {}", option, problem.message), problem.hint);
}

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
  report.json = [checks] { return checks_to_json(*checks); };
  report.verdicts = verdicts_of(*checks);
  return report;
}

}  // namespace

void add_check(const Command& program, Request& request) {
  const Command command = program.add_subcommand("check", "whether the training of a job file fits in memory, for CI");
  auto options = std::make_shared<CheckRequest>();
  command.add_option("JOB", options->files, "job files; 'recommend --save-job FILE' writes one").required().take_all();
  command
      .add_option_function(
          "--gpu-memory",
          [options](const std::string& text) {
            UnitProblem problem;
            options->check.gpu_memory = parse_plausible(text, plausible_memory, problem);
            if (!options->check.gpu_memory) refuse("--gpu-memory", problem);
            if (*options->check.gpu_memory <= Bytes{})
              refuse("--gpu-memory", {quote(text) + " must be greater than zero", "write for example 80GiB"});
          },
          "memory of a GPU, in place of the machine's: 80GiB")
      .type_name("SIZE");
  command
      .add_option_function(
          "--margin",
          [options](const std::string& text) {
            UnitProblem problem;
            options->check.margin = parse_margin(text, problem);
            if (!options->check.margin) refuse("--margin", problem);
          },
          "memory to keep free: 2GiB or 5%")
      .type_name("SIZE")
      .default_str("0 B");
  add_report_options(command, request.report, {Content::verdicts});
  command.callback([options, &request] { request.run = [options] { return check(*options); }; });
}

}  // namespace ddl
