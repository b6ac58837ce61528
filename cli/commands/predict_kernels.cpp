#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "calibration/inputs/machine_reader.hpp"
#include "calibration/inputs/study.hpp"
#include "calibration/kernels/kernel_prediction.hpp"
#include "cli/commands/commands.hpp"
#include "cli/options/problem_file.hpp"
#include "cli/options/study_options.hpp"
#include "cli/report/fields.hpp"
#include "core/error.hpp"
#include "core/units.hpp"

namespace ddl {
namespace {

struct KernelRequest {
  std::string file, machine = "dgx-a100", coefficients;
  std::vector<std::string> profiles;
  bool any_device = false;
};

/// Reads the kernels in a file. Throws Error with the position in the file if a line is not a
/// kernel, or if the device lacks a precision.
std::vector<KernelProblem> problems_of(const ProblemFile& file, const Device& device) {
  std::vector<KernelProblem> problems;
  for (const std::string& line : file.problems()) {
    const std::size_t place = problems.size();
    if (is_fresh_memory_problem(line)) {
      throw file.error(place, "fresh_memory", "fresh memory is not a kernel",
                       "leave this line out: the time of fresh memory can only be measured");
    }
    if (is_update_problem(line)) {
      problems.emplace_back(parse_update_problem(line, "the problem"));
    } else {
      problems.emplace_back(parse_problem(line, "the problem"));
    }
    try {
      require_precision(precision_of(problems.back()), device);
    } catch (const Error& error) {
      throw file.error(place, "precision=", error.what(), error.hint());
    }
  }
  return problems;
}

Fields<PredictedKernel> kernel_fields() {
  Fields<PredictedKernel> fields;
  fields.add("problem", [](const PredictedKernel& kernel) { return kernel.line; });
  fields.add("time_s", [](const PredictedKernel& kernel) { return kernel.time.value(); });
  fields.add("low_s", [](const PredictedKernel& kernel) { return or_null(kernel.low); });
  fields.add("high_s", [](const PredictedKernel& kernel) { return or_null(kernel.high); });
  fields.add("provenance", [](const PredictedKernel& kernel) { return to_string(kernel.source); });
  return fields;
}

Table table_of(const std::vector<PredictedKernel>& kernels) {
  Table table({essential(figures("time")), figures("95 % interval"), words("based on"), essential(prose("problem"))}, 0);
  for (const PredictedKernel& kernel : kernels) {
    table.add({humanize(kernel.time),
               kernel.low && kernel.high ? fmt::format("{} to {}", humanize(*kernel.low), humanize(*kernel.high)) : "-",
               std::string(to_string(kernel.source)), kernel.line});
  }
  return table;
}

Report kernels_report(const KernelRequest& asked) {
  StudySpec spec;
  spec.machine = asked.machine;
  spec.coefficients = asked.coefficients;
  const Machine machine = load_machine(asked.machine);
  const Coefficients coefficients = coefficients_of(spec, machine);
  const FoundProfiles found = find_profiles({asked.profiles, asked.any_device}, machine);
  const ProblemFile file(asked.file);
  const auto predicted = std::make_shared<const PredictedKernels>(
      predict_kernels(problems_of(file, machine.device), machine, coefficients, found.profiles));
  Report report;
  report.warn(found.warnings);
  report.warn(predicted->warnings);
  report.document.line(machine.device.name, fmt::format(", {}", machine.name));
  report.document.add(table_of(predicted->kernels));
  report.rows = [predicted] { return flat_rows(kernel_fields(), predicted->kernels); };
  report.json = [predicted, name = machine.name, device = machine.device.name] {
    Json json = json_head();
    json["machine"] = name;
    json["device"] = device;
    json["kernels"] = json_list(
        predicted->kernels, [fields = kernel_fields()](const PredictedKernel& kernel) { return json_of(fields, kernel); });
    return json;
  };
  return report;
}

}  // namespace

void add_predict_kernels(const Command& predict, Request& request) {
  const Command command = predict.add_subcommand("kernels", "predict the times of kernels, with intervals and sources");
  const auto asked = std::make_shared<KernelRequest>();
  command.examples({{"ddl-oracle predict kernels problems.txt", "kernels as listed by 'recommend --missing'"},
                    {"ddl-oracle predict kernels problems.txt --machine dgx-h100", "kernel times on a DGX H100"},
                    {"ddl-oracle predict kernels problems.txt --coefficients none --format csv",
                     "kernel times from the datasheet only, as CSV"}});
  command.add_option("file", asked->file, "kernels with their shapes, one per line, as in 'profile --problems'")
      .required()
      .file();
  command.add_option("--machine", asked->machine, "bundled machine or file")
      .names_or_file(machine_names)
      .capture_default_str();
  command.add_option("--coefficients", asked->coefficients,
                     "measurements: a file, a bundled name, or none (default: those bundled with the machine)");
  add_profile_options(command, asked->profiles, asked->any_device);
  add_report_options(command, request.report, {Content::rows});
  request.on_choice(command, [asked] {
    return kernels_report(*asked).then({"ddl-oracle", "profile", "--problems", asked->file, "-o", "measured.profile"});
  });
}

}  // namespace ddl
