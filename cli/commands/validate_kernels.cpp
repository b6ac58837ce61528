#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "calibration/inputs/machine_reader.hpp"
#include "calibration/kernels/kernel_table.hpp"
#include "calibration/kernels/kernel_validation.hpp"
#include "cli/commands/commands.hpp"
#include "cli/options/option_value.hpp"
#include "cli/options/row_filters.hpp"
#include "cli/options/study_options.hpp"
#include "cli/report/fields.hpp"
#include "core/error.hpp"

namespace ddl {
namespace {

struct ValidateKernelsRequest {
  std::vector<std::string> files, where;
  std::string machine = "dgx-a100";
  std::optional<double> overhead_us, tolerance;
};

constexpr double most_overhead_us = 1'000'000;

std::string error_text(double part) { return fmt::format("{:.1f} %", part * 100); }

/// Returns the fields of a group of kernels in CSV and JSON.
Fields<KernelAccuracy> accuracy_fields() {
  Fields<KernelAccuracy> fields;
  fields.add("kernels", [](const KernelAccuracy& group) { return group.kernels; });
  fields.add("passes", [](const KernelAccuracy& group) { return group.passes; });
  fields.add("precision", [](const KernelAccuracy& group) { return group.precision; });
  fields.add("provenance", [](const KernelAccuracy& group) { return to_string(group.source); });
  fields.add("rows", [](const KernelAccuracy& group) { return group.rows; });
  fields.add("median_error", [](const KernelAccuracy& group) { return group.median_error; });
  fields.add("p90_error", [](const KernelAccuracy& group) { return group.p90_error; });
  fields.add("median_ratio", [](const KernelAccuracy& group) { return group.median_ratio; });
  fields.add("inside", [](const KernelAccuracy& group) { return or_null(group.inside); });
  return fields;
}

Document document_of(const KernelValidation& validation, std::size_t rows, std::size_t ignored, const Machine& machine) {
  Document document;
  document.line(fmt::format("{} kernels of {}", rows, machine.device.name),
                ignored > 0 ? fmt::format("; {} rows are of a kind or format that has no formula", ignored) : "");
  Table table({essential(words("kernels")), essential(words("pass")), essential(words("precision")),
               essential(figures("rows")), essential(figures("error, median")), essential(figures("90 %")),
               figures("predicted / measured"), figures("inside 95 %"), words("based on")});
  for (const KernelAccuracy& group : validation.groups) {
    table.add({group.kernels, group.passes, group.precision, std::to_string(group.rows), error_text(group.median_error),
               error_text(group.p90_error), fmt::format("{:.2f}", group.median_ratio),
               group.inside ? error_text(*group.inside) : "-", std::string(to_string(group.source))});
  }
  document.apart(std::move(table));
  if (validation.refused > 0) {
    document.line(fmt::format("not compared: {} in a precision that the datasheet of {} lacks", validation.refused,
                              machine.device.name));
  }
  return document;
}

Report validate(const ValidateKernelsRequest& asked) {
  const std::vector<RowFilter> filters = row_filters("--where", asked.where);
  const Machine machine = load_machine(asked.machine);
  const KernelTable table = read_kernel_tables(asked.files, filters);
  const auto validation = std::make_shared<const KernelValidation>(
      validate_kernels(table.samples, machine.device, Seconds(asked.overhead_us.value_or(0) * 1e-6)));
  if (validation->groups.empty()) {
    throw Error("no kernel is left to compare", asked.where.empty() ? "" : "relax --where");
  }
  Report report;
  report.document = document_of(*validation, table.samples.size() - validation->refused, table.ignored, machine);
  report.rows = [validation] { return flat_rows(accuracy_fields(), validation->groups); };
  report.json = [validation, name = machine.name, device = machine.device.name] {
    Json json = json_head();
    json["machine"] = name;
    json["device"] = device;
    json["refused"] = validation->refused;
    json["groups"] = json_list(validation->groups,
                               [fields = accuracy_fields()](const KernelAccuracy& group) { return json_of(fields, group); });
    return json;
  };
  for (const KernelAccuracy& group : validation->groups) {
    if (asked.tolerance && group.median_error > *asked.tolerance) report.status = ExitStatus::beyond_tolerance;
  }
  return report;
}

}  // namespace

void add_validate_kernels(const Command& validate_command, Request& request) {
  const Command command = validate_command.add_subcommand(
      "kernels", "compare the kernel model of a device with measured kernels, without fitting it to them");
  const auto asked = std::make_shared<ValidateKernelsRequest>();
  command.examples({{"ddl-oracle validate kernels kernels.csv --machine dgx-a100",
                     "the error of the bundled kernel model for your kernels"},
                    {"ddl-oracle validate kernels kernels.csv --machine dgx-a100 --format csv", "errors, for programs"},
                    {"ddl-oracle validate kernels kernels.csv --machine dgx-a100 --overhead-us 5",
                     "for times that include 5 us of launch overhead"}});
  command.add_option("files", asked->files, "tables of measured kernels, or profiles").required().file();
  command.add_option("--machine", asked->machine, "machine with the measured device: a bundled one or a file")
      .names_or_file(machine_names)
      .capture_default_str();
  command.add_repeated("--where", asked->where, "use only rows whose column has one of these values: gpu=A100-SXM4-80GB",
                       "COLUMN=VALUES");
  add_number(command, "--overhead-us", asked->overhead_us, 0, most_overhead_us,
             "overhead in each measured time in microseconds, such as the kernel launch (default 0)");
  add_number(command, "--tolerance", asked->tolerance, 0, 1e6, "exit with status 1 if a group's median |error| is larger");
  add_report_options(command, request.report, {Content::rows});
  request.on_choice(command, [asked] { return validate(*asked); });
}

}  // namespace ddl
