#include <filesystem>

#include <fmt/format.h>

#include "cli/commands/recommendation.hpp"
#include "cli/commands/save_directory.hpp"
#include "cli/documents/estimate.hpp"
#include "cli/documents/intervals.hpp"
#include "cli/documents/ranking.hpp"
#include "cli/documents/startable.hpp"
#include "cli/options/job_file.hpp"
#include "cli/report/figures.hpp"
#include "cli/report/formats/format.hpp"
#include "core/error.hpp"
#include "core/source_text.hpp"
#include "estimator/explain/unmeasured.hpp"
#include "model_zoo/network/model.hpp"

namespace ddl {

void write_missing(const RecommendAnswer& answer, const std::string& output) {
  const std::string& path = answer.options.missing;
  if (is_file(output) && path == output) {
    throw Error(fmt::format("--missing and --output both name {}", quote_path(path)), "use two different names");
  }
  const std::vector<UnmeasuredProblem> problems = unmeasured_problems(*answer.estimator, answer.shown);
  std::string text = fmt::format("# unmeasured: {} of {} on {}, longest first\n",
                                 count_text(static_cast<std::int64_t>(problems.size()), "problem"),
                                 answer.study->model().name, answer.study->machine().name);
  for (const UnmeasuredProblem& each : problems) text += each.line + "\n";
  write_output(path, text, "--missing");
}

void write_job(const RecommendAnswer& answer, const std::string& output, Report& report) {
  const std::string& path = answer.options.save_job;
  if (answer.shown.empty()) {
    report.warnings.push_back(fmt::format("--save-job: no plan is possible, {} is not written", quote_path(path)));
    return;
  }
  if (is_file(output) && path == output) {
    throw Error(fmt::format("--save-job and --output both name {}", quote_path(path)), "use two different names");
  }
  const std::string folder = std::filesystem::path(path).parent_path().string();
  const JobFile job = job_of(*answer.study, answer.shown.front().plan, folder);
  const std::string text = print_job(job);
  static_cast<void>(parse_job(text, path));  // throws Error if a path contains invalid UTF-8
  write_output(path, text, "--save-job");
}

void write_directory(RecommendAnswer& answer, Report& report) {
  const std::string& path = answer.options.save_dir;
  if (answer.shown.empty()) {
    report.warnings.push_back(fmt::format("--save-dir: no plan is possible, {} is not written", quote_path(path)));
    return;
  }
  std::vector<Estimate> candidates = answer.options.all || answer.single ? answer.shown : answer.result.best;
  add_reserved(*answer.estimator, candidates);
  add_reserved(*answer.estimator, answer.result.rejected);
  add_intervals(candidates, *answer.study, *answer.estimator);
  add_intervals(answer.result.rejected, *answer.study, *answer.estimator);
  const std::string table = csv_of(plans_rows(candidates, answer.result.rejected, *answer.study, answer.options.training));
  report.command = answer.options.typed;
  const SavedAnswer saved{json_format(report, Style(false)), table, html_format(report, Style(false))};
  const Framework* const framework = framework_named(answer.options.framework);
  const std::string_view launcher = framework == nullptr ? std::string_view() : framework->launcher;
  report.document.append(
      save_directory({path, answer.options.overwrite, launcher}, *answer.study, answer.shown.front(), saved));
}

}  // namespace ddl
