#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "calibration/inputs/device_file.hpp"
#include "calibration/inputs/machine_reader.hpp"
#include "calibration/kernels/kernel_fit.hpp"
#include "calibration/kernels/kernel_table.hpp"
#include "cli/commands/commands.hpp"
#include "cli/options/option_value.hpp"
#include "cli/options/row_filters.hpp"
#include "cli/options/study_options.hpp"
#include "cli/report/fields.hpp"
#include "core/error.hpp"
#include "core/source_text.hpp"

namespace ddl {
namespace {

/// The options of `calibrate kernels`, which fits a device's kernel model to measured kernels.
struct KernelsRequest {
  std::vector<std::string> files, where;
  std::string machine, output, source, citation;
  bool includes_launch = false;
  std::optional<std::int64_t> residuals{};
};

constexpr std::int64_t usual_residuals = 1500;
constexpr std::int64_t most_residuals = 100'000;

std::string percent(double part) { return fmt::format("{:.1f} %", part * 100); }

Document document_of(const KernelFit& fit, std::size_t rows, std::size_t ignored, const Device& device) {
  Document document;
  document.line(fmt::format("{} kernels of {}", rows, device.name),
                ignored > 0 ? fmt::format("; {} rows are of a kind or format that has no formula", ignored) : "");
  Table table({words("kernels"), words("pass"), words("precision"), figures("rows"), figures("formula, median"),
               figures("90 %"), figures("held out, median"), figures("90 %")});
  for (const KernelFitReport& one : fit.reports) {
    const bool left_out = one.left_out_p90 > 0;
    table.add({std::string(to_string(one.kind)), one.passes, std::string(to_string(one.precision)), std::to_string(one.rows),
               percent(one.formula_median), percent(one.formula_p90), left_out ? percent(one.left_out_median) : "-",
               left_out ? percent(one.left_out_p90) : "-"});
  }
  document.apart(std::move(table));
  return document;
}

Json json_of(const KernelFit& fit) {
  Json families = Json::array();
  for (const KernelFitReport& one : fit.reports) {
    families.push_back({{"kind", to_string(one.kind)},
                        {"pass", one.passes},
                        {"precision", to_string(one.precision)},
                        {"rows", one.rows},
                        {"formula_median", one.formula_median},
                        {"formula_p90", one.formula_p90},
                        {"left_out_median", one.left_out_median},
                        {"left_out_p90", one.left_out_p90}});
  }
  return {{"families", families}};
}

/// Writes the device file, in which the fitted families replace the previous families: those of the file, else those of the
/// bundled file of the device.
void write_families(const KernelsRequest& asked, const Device& device, const KernelFit& fit) {
  DeviceFile file;
  if (std::filesystem::exists(asked.output)) {
    file = parse_device_file(read_file(asked.output), asked.output);
  } else if (std::optional<DeviceFile> bundled = bundled_device_file(device)) {
    file = *std::move(bundled);
    // A user's device file belongs to one machine.
    file.compute_capability.reset();
  } else {
    file.names = {device.name};
    for (const std::string& name : device.profile_names) file.names.push_back(name);
  }
  const std::string citation =
      asked.citation.empty() ? fmt::format("calibrate kernels {}", fmt::join(asked.files, " ")) : asked.citation;
  std::erase_if(file.sources, [&](const auto& each) { return each.first == asked.source; });
  file.sources.emplace_back(asked.source, citation);
  for (const KernelFamily& family : fit.families) {
    std::erase_if(file.kernels.families, [&](const KernelFamily& other) {
      return other.kind == family.kind && other.pass == family.pass && other.precision == family.precision &&
             other.conditions == family.conditions;
    });
    file.kernels.families.push_back(family);
  }
  write_over(asked.output, print_device_file(file));
}

std::vector<KernelFamily> known_families(const std::string& path) {
  if (path.empty() || !std::filesystem::exists(path)) return {};
  return parse_device_file(read_file(path), path).kernels.families;
}

Report calibrate_from_kernels(const KernelsRequest& asked) {
  const std::vector<RowFilter> filters = row_filters("--where", asked.where);
  const Machine machine = load_machine(asked.machine);
  const KernelTable table = read_kernel_tables(asked.files, filters);
  const std::vector<KernelSample>& samples = table.samples;
  if (samples.empty()) throw Error("no kernel is left to fit", asked.where.empty() ? "" : "relax --where");
  const KernelFitSettings settings{.includes_launch = asked.includes_launch,
                                   .most_residuals = static_cast<std::size_t>(asked.residuals.value_or(usual_residuals)),
                                   .source = asked.source,
                                   .known = known_families(asked.output)};
  const auto fit = std::make_shared<KernelFit>(fit_kernels(samples, machine.device, settings));
  if (fit->families.empty())
    throw Error("too few kernels of any kind to fit",
                "a formula needs at least four rows of the "
                "same kind, pass and precision");
  if (!asked.output.empty()) write_families(asked, machine.device, *fit);
  Report report;
  report.document = document_of(*fit, samples.size(), table.ignored, machine.device);
  report.json = [fit] { return json_of(*fit); };
  return report;
}

}  // namespace

void add_calibrate_kernels(const Command& calibrate, Request& request) {
  const Command command = calibrate.add_subcommand("kernels", "fit a device's kernel model to measured kernels");
  const auto asked = std::make_shared<KernelsRequest>();
  command.examples(
      {{"ddl-oracle calibrate kernels kernels.csv --machine dgx-a100", "error of the formulas against your measurements"},
       {"ddl-oracle calibrate kernels kernels.csv --machine dgx-a100 -o our-a100.yaml", "formulas in a device file"},
       {"ddl-oracle calibrate kernels kernels.csv --machine dgx-a100 --includes-launch",
        "for times that include the kernel launch"}});
  command.add_option("files", asked->files, "tables of measured kernels, or profiles").required().file();
  command.add_option("--machine", asked->machine, "machine with the measured device: a name, or a path to a machine file")
      .required();
  command.add_repeated("--where", asked->where, "use only rows whose column has one of these values: gpu=A100-SXM4-80GB",
                       "COLUMN=VALUES");
  command.add_option("--source", asked->source, "citation key of these measurements in the written file")
      .default_str("measured");
  asked->source = "measured";
  command.add_option("--citation", asked->citation, "source of these measurements in the written file");
  command.add_switch("--includes-launch", asked->includes_launch,
                     "the times include the launch overhead, which is subtracted");
  add_whole_number(command, "--residuals", asked->residuals, 0, most_residuals,
                   "measured kernels per family to keep in addition to the formula (default 1500)");
  add_output_option(command, asked->output, "write or extend this device file");
  add_format_option(command, request.report);
  request.on_choice(command, [asked, &request] {
    Report report = calibrate_from_kernels(*asked);
    report.next.push_back(asked->output.empty() ? request.command + " -o device.yaml"
                                                : "ddl-oracle machines new ours --like " + asked->machine + " -o ours.yaml");
    return report;
  });
}

}  // namespace ddl
