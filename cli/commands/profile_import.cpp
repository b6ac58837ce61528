#include <algorithm>
#include <memory>
#include <optional>

#include <fmt/format.h>

#include "cli/commands/commands.hpp"
#include "cli/options/option_value.hpp"
#include "cli/options/study_options.hpp"
#include "cli/report/fields.hpp"
#include "cli/report/figures.hpp"
#include "core/units.hpp"
#include "model_zoo/files/load_model.hpp"
#include "model_zoo/network/model.hpp"
#include "profiler/importers/import_profile.hpp"

namespace ddl {
namespace {

constexpr std::int64_t most_imported_samples = std::int64_t{1} << 30U;

struct ProfileImportRequest {
  std::string path, model, output, precision, optimizer;
  std::optional<std::int64_t> samples;
  std::string device;
  bool overwrite = false;
};

ProfileImportOptions options_of(const ProfileImportRequest& asked) {
  ProfileImportOptions options{.samples = asked.samples,
                               .precision = {},
                               .optimizer = {},
                               .device = asked.device,
                               .model = asked.model,
                               .others = model_names()};
  if (!asked.precision.empty()) options.precision = chosen<Precision>("--precision", asked.precision);
  if (!asked.optimizer.empty())
    options.optimizer = chosen("--optimizer", asked.optimizer, parse_measured_optimizer, {"sgd", "momentum", "adam"});
  return options;
}

std::string share_of(Seconds part, Seconds whole) {
  return whole > Seconds(0) ? fmt::format("{:.0f} %", 100 * (part / whole)) : "-";
}

/// Maximum number of rows in the tables of unmatched events and of problems without a time.
constexpr std::size_t rows_shown = 12;

void add_rest(Document& document, std::size_t rows) {
  if (rows > rows_shown) document.line(fmt::format("and {} more", rows - rows_shown), 2);
}

Document summary(const ProfileImport& imported, const std::string& output) {
  const ProfileHead& head = imported.profile.head;
  Document document;
  document.line(
      head.model,
      fmt::format(": {} of {}, {}, {} on {}", count_text(static_cast<std::int64_t>(imported.profile.rows.size()), "problem"),
                  with_thousands(static_cast<std::int64_t>(imported.profile.rows.size() + imported.missing.size())),
                  count_text(imported.samples, "sample"), to_string(imported.precision), head.device));
  document.line("written to " + output);
  if (imported.steps > 0) {
    document.line(fmt::format("{} of {}{}, {} of it in operators of layers", count_text(imported.steps, "step"),
                              imported.of_device ? "kernels of " : "", humanize(imported.step),
                              share_of(imported.matched, imported.step)));
  }
  for (const std::string& warning : imported.warnings) document.paragraph("warning: " + warning, 0, 2);
  if (!imported.unmatched.empty()) {
    Table table({words("operator"), words("shapes"), figures("calls"), figures("per step"), figures("of it")});
    for (std::size_t i = 0; i < std::min(rows_shown, imported.unmatched.size()); ++i) {
      const UnmatchedOperator& each = imported.unmatched[i];
      table.add({each.name, each.shapes.empty() ? "-" : each.shapes, fmt::format("{:.4g}", each.calls), humanize(each.time),
                 share_of(each.time, imported.step)});
    }
    document.section("Time outside layers");
    document.add(std::move(table));
    add_rest(document, imported.unmatched.size());
  }
  if (!imported.missing.empty()) {
    document.section("Kernels without a time");
    for (std::size_t i = 0; i < std::min(rows_shown, imported.missing.size()); ++i) document.line(imported.missing[i], 2);
    add_rest(document, imported.missing.size());
  }
  return document;
}

Json summary_json(const ProfileImport& imported, const std::string& output) {
  Json json = json_head();
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
    json["unmatched"] = json_list(imported.unmatched, [](const UnmatchedOperator& each) -> Json {
      return {{"operator", each.name}, {"shapes", each.shapes}, {"calls", each.calls}, {"time_s", each.time.value()}};
    });
  }
  json["warnings"] = imported.warnings;
  if (output.empty()) {
    json["profile"] = print_profile(imported.profile);
  } else {
    json["written_to"] = output;
  }
  return json;
}

Report import_profile_file(const ProfileImportRequest& asked, const std::string& format) {
  if (!asked.overwrite) refuse_existing(asked.output, "--overwrite replaces the file, --output names another file");
  const ProfileImportOptions options = options_of(asked);
  const Model model = load_model(asked.model);
  const auto imported = std::make_shared<ProfileImport>(import_profile(asked.path, model, options));
  const std::string text = print_profile(imported->profile);
  // The file is written only if reading it back gives the same profile.
  static_cast<void>(parse_profile(text, "the import of " + asked.path));
  const std::string output = is_file(asked.output) ? asked.output : "";
  if (!output.empty()) write_output(output, text);
  Report report;
  if (output.empty() && format == "text") report.warnings = imported->warnings;
  report.document = output.empty() ? Document{{Verbatim{text}}} : summary(*imported, output);
  if (!output.empty())
    report = std::move(report).then(
        {"ddl-oracle", "recommend", asked.model, "--profile", output, "--machine", "MACHINE", "--gpus", "8"});
  report.json = [imported, output] { return summary_json(*imported, output); };
  return report;
}

}  // namespace

void add_profile_import(const Command& profile, Request& request) {
  const Command command = profile.add_subcommand("import", "convert measurements of another program to a profile");
  const auto asked = std::make_shared<ProfileImportRequest>();
  command.examples(
      {{"ddl-oracle profile import trace.json --model ./net.yaml --device 'some processor' -o net.profile",
        "a trace of torch.profiler"},
       {"ddl-oracle profile import trace.json --model ./net.yaml --device 'some processor' --format json",
        "the measurements as JSON, for programs"},
       {"ddl-oracle profile import layers.csv --model alexnet --batch 16 --device 'Tesla V100' -o alexnet.profile",
        "a table of layer times"}});
  command
      .add_option("file", asked->path,
                  "trace of PyTorch's profiler, steps of step_time.py (.json), or table of layer times (.csv)")
      .required()
      .file();
  command.add_option("--model", asked->model, "measured model: a name, or a path to a model file").required();
  add_output_option(command, asked->output, "write the profile to this file; default: the standard output");
  command.add_switch("--overwrite", asked->overwrite, "replace an existing file");
  add_whole_number(command, "--batch", asked->samples, 1, most_imported_samples,
                   "samples per step or micro-batch; default: the trace's");
  command.add_option("--precision", asked->precision,
                     "fp32, tf32, fp16 or bf16; default: that of the trace (never tf32), else fp32");
  command.add_option("--optimizer", asked->optimizer, "sgd, momentum or adam; default: the trace's, else sgd");
  command.add_option("--device", asked->device, "name of the device; default: the trace's, if it is of a GPU");
  add_format_option(command, request.report);
  request.on_choice(command, [asked, &request] { return import_profile_file(*asked, request.report.format); });
}

}  // namespace ddl
