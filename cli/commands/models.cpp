#include <memory>

#include <fmt/format.h>

#include "cli/commands/commands.hpp"
#include "cli/study_options.hpp"
#include "cli/table.hpp"
#include "core/units.hpp"
#include "model_zoo/model.hpp"

namespace ddl {
namespace {

using Json = nlohmann::ordered_json;
using Align = Table::Align;

std::string shape_text(const TensorShape& shape) { return to_string(shape); }

Report list() {
  auto table = std::make_shared<Table>(std::vector<Table::Column>{
      {"model", Align::left}, {"parameters"}, {"FLOPs forward"}, {"layers"}, {"input", Align::left}});
  auto json = std::make_shared<Json>();
  (*json)["schema"] = 1;
  (*json)["models"] = Json::array();
  for (const std::string& name : model_names()) {
    const Model model = load_model(name);
    table->add({name, with_thousands(model.parameters()), humanize(Flops(model.flops_forward())),
                std::to_string(model.layers.size()), shape_text(model.input)});
    (*json)["models"].push_back({{"name", name},
                                 {"parameters", model.parameters()},
                                 {"flops_forward", model.flops_forward()},
                                 {"layers", model.layers.size()}});
  }
  Report report;
  report.text = [table](const Style&) { return table->text(""); };
  report.json = [json] { return *json; };
  report.csv = [json] { return csv_of(json->at("models")); };
  return report;
}

Table layer_table(const Model& model) {
  Table table({{"layer", Align::left},
               {"operation", Align::left},
               {"output", Align::left},
               {"parameters"},
               {"FLOPs forward"},
               {"FLOPs backward"}});
  for (const Layer& layer : model.layers) {
    const auto flops = [&](Pass pass) { return layer.operation->work(pass, layer.input_shapes, layer.output_shape).flops; };
    const std::string attributes = layer.operation->attributes();
    table.add({layer.name, std::string(layer.operation->type()) + (attributes.empty() ? "" : " " + attributes),
               shape_text(layer.output_shape), layer.parameters() > 0 ? with_thousands(layer.parameters()) : "-",
               humanize(Flops(flops(Pass::forward))),
               humanize(Flops(flops(Pass::backward_data) + flops(Pass::backward_weight)))});
  }
  return table;
}

Json shape_json(const TensorShape& shape) {
  Json json = Json::array({shape.channels});
  for (int d = 0; d < shape.rank; ++d) json.push_back(shape.extent[static_cast<std::size_t>(d)]);
  return json;
}

Json model_json(const Model& model) {
  Json json;
  json["schema"] = 1;
  json["name"] = model.name;
  json["description"] = model.description;
  json["source"] = model.source;
  json["input"] = shape_json(model.input);
  json["parameters"] = model.parameters();
  json["buffers"] = model.buffers();
  json["macs_forward"] = model.macs();
  json["flops_forward"] = model.flops_forward();
  json["flops_backward_data"] = model.flops(Pass::backward_data);
  json["flops_backward_weight"] = model.flops(Pass::backward_weight);
  json["layers"] = Json::array();
  for (const Layer& layer : model.layers) {
    const auto work = [&](Pass pass) { return layer.operation->work(pass, layer.input_shapes, layer.output_shape); };
    Json entry;
    entry["name"] = layer.name;
    entry["operation"] = layer.operation->type();
    entry["attributes"] = layer.operation->attributes();
    entry["inputs"] = Json::array();
    for (const int input : layer.inputs)
      entry["inputs"].push_back(input < 0 ? "input" : model.layers[static_cast<std::size_t>(input)].name);
    entry["output"] = shape_json(layer.output_shape);
    entry["parameters"] = layer.parameters();
    for (const auto& [key, pass] : {std::pair{"forward", Pass::forward}, std::pair{"backward_data", Pass::backward_data},
                                    std::pair{"backward_weight", Pass::backward_weight}}) {
      const Work done = work(pass);
      entry[fmt::format("flops_{}", key)] = done.flops;
      // fp32, one sample: what a kernel reads and writes.
      entry[fmt::format("bytes_{}", key)] = (done.activation_items + done.weight_items) * 4.0;
    }
    json["layers"].push_back(std::move(entry));
  }
  return json;
}

Report show(const std::string& name) {
  const auto model = std::make_shared<Model>(load_model(name));
  Report report;
  report.text = [model](const Style& style) {
    std::string out = style.bold(model->name) + (model->description.empty() ? "" : ": " + model->description) + "\n";
    if (!model->source.empty()) out += wrap_text("source: " + model->source, 118, "  ") + "\n";
    out +=
        fmt::format("input {}, {} parameters, {} forward and {} multiply-adds per sample, {}\n\n", shape_text(model->input),
                    with_thousands(model->parameters()), humanize(Flops(model->flops_forward())), whole_text(model->macs()),
                    count_text(static_cast<std::int64_t>(model->layers.size()), "layer"));
    return out + layer_table(*model).text();
  };
  report.json = [model] { return model_json(*model); };
  report.csv = [model] { return csv_of(model_json(*model).at("layers")); };
  return report;
}

}  // namespace

void add_models(CLI::App& program, Request& request) {
  CLI::App& command = *program.add_subcommand("models", "list and show the models that can be asked about");
  command.require_subcommand(1);
  CLI::App& lists = *command.add_subcommand("list", "bundled models");
  add_report_options(lists, request.report);
  lists.callback([&request] { request.run = list; });
  CLI::App& shows = *command.add_subcommand("show", "layers, shapes, parameters and work of one model");
  auto name = std::make_shared<std::string>();
  shows.add_option("model", *name, "bundled model or model file")->required();
  add_report_options(shows, request.report);
  shows.callback([name, &request] { request.run = [name] { return show(*name); }; });
  add_models_import(command, request);
}

}  // namespace ddl
