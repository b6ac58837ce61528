#include <memory>

#include <fmt/format.h>

#include "cli/commands/commands.hpp"
#include "cli/options/study_options.hpp"
#include "cli/report/fields.hpp"
#include "cli/report/figures.hpp"
#include "cli/report/shell_words.hpp"
#include "core/error.hpp"
#include "core/units.hpp"
#include "model_zoo/files/load_model.hpp"
#include "model_zoo/files/onnx_file.hpp"
#include "model_zoo/importers/import_model.hpp"
#include "model_zoo/network/model.hpp"

namespace ddl {
namespace {

struct ModelImportRequest {
  std::string path, output, input_shape;
  bool overwrite = false;
  ImportOptions options;
};

Document summary(const Model& model, const Import& imported, const std::string& output) {
  Document document;
  document.line(model.name,
                fmt::format(": {}, {} parameters, {} multiply-adds per sample, input {}",
                            count_text(static_cast<std::int64_t>(model.layers.size()), "layer"),
                            with_thousands(model.parameters()), whole_text(model.macs()), to_string(model.input)));
  document.line("written to " + output);
  for (const std::string& warning : imported.warnings) document.paragraph("warning: " + warning, 0, 2);
  return document;
}

/// The text of the model file, with the warnings of the import as comments.
std::string commented(const Import& imported) {
  std::string text;
  for (const std::string& warning : imported.warnings) {
    std::string lines = "warning: " + warning;
    for (std::size_t at = 0; (at = lines.find('\n', at)) != std::string::npos; at += 3) lines.replace(at, 1, "\n# ");
    text += fmt::format("# {}\n", lines);
  }
  return text + imported.model_file;
}

Json summary_json(const Model& model, const Import& imported, const std::string& output) {
  Json json = json_head();
  json["name"] = model.name;
  json["layers"] = model.layers.size();
  json["parameters"] = model.parameters();
  json["macs_forward"] = model.macs();
  json["warnings"] = imported.warnings;
  if (output.empty()) {
    json["model_file"] = imported.model_file;
  } else {
    json["written_to"] = output;
  }
  return json;
}

Report import_model_file(const ModelImportRequest& asked, const std::string& format) {
  if (!asked.overwrite) refuse_existing(asked.output, "--overwrite replaces the file, --output names another file");
  ImportOptions options = asked.options;
  if (!asked.input_shape.empty()) {
    if (!is_onnx_file(asked.path))
      throw Error("--input-shape is for ONNX files", "a config.json already gives the size of its samples");
    options.input_shape = parse_input_shape("--input-shape", asked.input_shape);
  }
  const auto imported = std::make_shared<Import>(import_model(asked.path, options));
  // The file is written only if reading it back gives the same model.
  const auto model = std::make_shared<Model>(parse_model(imported->model_file, "the import of " + asked.path));
  const std::string output = is_file(asked.output) ? asked.output : "";
  if (!output.empty()) write_output(output, commented(*imported));
  Report report;
  if (output.empty() && format == "text") report.warnings = imported->warnings;
  report.document = output.empty() ? Document{{Verbatim{commented(*imported)}}} : summary(*model, *imported, output);
  if (!output.empty())
    report.next = {
        shell_words(std::vector<std::string>{"ddl-oracle", "recommend", output, "--machine", "h100", "--gpus", "64"})};
  report.json = [imported, model, output] { return summary_json(*model, *imported, output); };
  return report;
}

}  // namespace

void add_models_import(const Command& models, Request& request) {
  const Command command = models.add_subcommand("import", "convert a file of another program to a model file");
  const auto asked = std::make_shared<ModelImportRequest>();
  command.examples({{"ddl-oracle models import net.onnx -o net.yaml", "an ONNX file into a model file"},
                    {"ddl-oracle models import config.json -o mine.yaml", "a config.json of Hugging Face's transformers"},
                    {"ddl-oracle models import config.json --name mine", "the model file on the standard output"}});
  command.add_option("file", asked->path, "ONNX file (.onnx), or a config.json of Hugging Face's transformers")
      .required()
      .file();
  add_output_option(command, asked->output, "write the model file to this file; default: the standard output");
  command.add_switch("--overwrite", asked->overwrite, "replace an existing file");
  command.add_option("--name", asked->options.name, "name of the model; default: the file's name");
  command.add_option("--input-shape", asked->input_shape,
                     "sizes of one sample, such as 3x640x640, if the file does not "
                     "fix them",
                     "SIZES");
  command.add_switch("--allow-unknown", asked->options.allow_unknown,
                     "treat unknown operators that keep the shape as elementwise layers");
  add_format_option(command, request.report);
  request.on_choice(command, [asked, &request] { return import_model_file(*asked, request.report.format); });
}

}  // namespace ddl
