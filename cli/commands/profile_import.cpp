#include <algorithm>
#include <memory>
#include <optional>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/commands/commands.hpp"
#include "cli/formats/table.hpp"
#include "cli/options/number_option.hpp"
#include "cli/options/study_options.hpp"
#include "core/error.hpp"
#include "core/units.hpp"
#include "core/version.hpp"
#include "model_zoo/model.hpp"
#include "profiler/importers/import_profile.hpp"

namespace ddl {
namespace {

using Json = nlohmann::ordered_json;
using Align = Table::Align;

constexpr std::int64_t most_imported_samples = std::int64_t{1} << 30U;

struct ImportRequest {
  std::string path, model, output, precision, optimizer;
  std::optional<std::int64_t> samples;
  std::string device;
};

ProfileImportOptions options_of(const ImportRequest& asked) {
  ProfileImportOptions options{.samples = asked.samples, .precision = {}, .optimizer = {}, .device = asked.device};
  if (!asked.precision.empty()) {
    options.precision = parse_precision(asked.precision);
    if (!options.precision) unknown_choice("--precision", asked.precision, {"fp32", "tf32", "fp16", "bf16"});
  }
  if (!asked.optimizer.empty()) {
    options.optimizer = parse_measured_optimizer(asked.optimizer);
    if (!options.optimizer) unknown_choice("--optimizer", asked.optimizer, {"sgd", "momentum", "adam"});
  }
  return options;
}

std::string share_text(Seconds part, Seconds whole) {
  return whole > Seconds(0) ? fmt::format("{:.0f} %", 100 * (part / whole)) : "-";
}

/// What of the steps' time went to no layer.
std::string unmatched_text(const ProfileImport& imported, const Style& style) {
  constexpr std::size_t most_rows = 12;
  Table table({{"operator", Align::left}, {"shapes", Align::left}, {"calls"}, {"per step"}, {"of it"}});
  for (std::size_t i = 0; i < std::min(most_rows, imported.unmatched.size()); ++i) {
    const UnmatchedOperator& each = imported.unmatched[i];
    table.add({each.name, each.shapes.empty() ? "-" : each.shapes, fmt::format("{:.4g}", each.calls), humanize(each.time),
               share_text(each.time, imported.step)});
  }
  std::string text = fmt::format("\n{}\n{}", style.bold("Of no layer"), table.text());
  if (imported.unmatched.size() > most_rows) text += fmt::format("  and {} more\n", imported.unmatched.size() - most_rows);
  return text;
}

std::string missing_text(const ProfileImport& imported, const Style& style) {
  constexpr std::size_t most_rows = 12;
  std::string text = fmt::format("\n{}\n", style.bold("Problems that nobody timed"));
  for (std::size_t i = 0; i < std::min(most_rows, imported.missing.size()); ++i) text += "  " + imported.missing[i] + "\n";
  if (imported.missing.size() > most_rows) text += fmt::format("  and {} more\n", imported.missing.size() - most_rows);
  return text;
}

std::string summary(const ProfileImport& imported, const std::string& output, const Style& style) {
  const ProfileHead& head = imported.profile.head;
  std::string text =
      fmt::format("{}: {} of {}, {}, {} on {}\nwritten to {}\n", style.bold(head.model),
                  count_text(static_cast<std::int64_t>(imported.profile.rows.size()), "problem"),
                  with_thousands(static_cast<std::int64_t>(imported.profile.rows.size() + imported.missing.size())),
                  count_text(imported.samples, "sample"), to_string(imported.precision), head.device, output);
  if (imported.steps > 0) {
    text += fmt::format("{} of {}{}, {} of it in operators of layers\n", count_text(imported.steps, "step"),
                        imported.of_device ? "kernels of " : "", humanize(imported.step),
                        share_text(imported.matched, imported.step));
  }
  for (const std::string& warning : imported.warnings) text += wrap_text("warning: " + warning, 118, "  ") + "\n";
  if (!imported.unmatched.empty()) text += unmatched_text(imported, style);
  if (!imported.missing.empty()) text += missing_text(imported, style);
  return text;
}

Json summary_json(const ProfileImport& imported, const std::string& output) {
  Json json;
  json["schema"] = 1;
  json["version"] = version();
  json["commit"] = commit();
  json["model"] = imported.profile.head.model;
  json["device"] = imported.profile.head.device;
  json["samples"] = imported.samples;
  json["precision"] = to_string(imported.precision);
  json["problems"] = imported.profile.rows.size();
  json["missing"] = imported.missing;
  if (imported.steps > 0) {
    json["steps"] = imported.steps;
    json["of_device"] = imported.of_device;
    json["step_s"] = imported.step.value();
    json["matched_s"] = imported.matched.value();
    json["unmatched"] = Json::array();
    for (const UnmatchedOperator& each : imported.unmatched) {
      json["unmatched"].push_back(
          {{"operator", each.name}, {"shapes", each.shapes}, {"calls", each.calls}, {"time_s", each.time.value()}});
    }
  }
  json["warnings"] = imported.warnings;
  if (output.empty()) {
    json["profile"] = print_profile(imported.profile);
  } else {
    json["written_to"] = output;
  }
  return json;
}

Report import_file(const ImportRequest& asked, Format format) {
  const ProfileImportOptions options = options_of(asked);
  const Model model = load_model(asked.model);
  const auto imported = std::make_shared<ProfileImport>(import_profile(asked.path, model, options));
  const std::string text = print_profile(imported->profile);
  // What cannot be read back is not written.
  static_cast<void>(parse_profile(text, "the import of " + asked.path));
  const std::string output = is_file(asked.output) ? asked.output : "";
  if (!output.empty()) write_output(output, text);
  Report report;
  if (output.empty() && format == Format::text) report.warnings = imported->warnings;
  report.text = [imported, output, text](const Style& style) {
    return output.empty() ? text : summary(*imported, output, style);
  };
  report.json = [imported, output] { return summary_json(*imported, output); };
  return report;
}

}  // namespace

void add_profile_import(CLI::App& profile, Request& request) {
  CLI::App& command = *profile.add_subcommand("import", "turn another program's measurements into a profile");
  const auto asked = std::make_shared<ImportRequest>();
  command
      .add_option("file", asked->path,
                  "PyTorch's: trace of its profiler, or whole steps of step_time.py (.json); table of layer times (.csv)")
      ->required();
  command.add_option("--model", asked->model, "model that was run: a name, or a path to a model file")->required();
  command.add_option("-o,--output", asked->output, "write the profile here; without it, to the standard output");
  add_whole_number(command, "--batch", asked->samples, 1, most_imported_samples,
                   "samples of a step, or of its micro-batch; a trace shows them");
  command.add_option("--precision", asked->precision, "fp32, tf32, fp16 or bf16; a trace shows all but tf32")
      ->default_str("fp32");
  command.add_option("--optimizer", asked->optimizer, "sgd, momentum or adam; a trace shows it")->default_str("sgd");
  command.add_option("--device", asked->device, "name of the device; a trace of a GPU has it");
  add_format_option(command, request.report);
  command.callback(
      [asked, &request] { request.run = [asked, &request] { return import_file(*asked, request.report.format); }; });
}

}  // namespace ddl
