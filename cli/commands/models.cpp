#include <algorithm>
#include <memory>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "calibration/inputs/machine_reader.hpp"
#include "calibration/inputs/study.hpp"
#include "cli/commands/commands.hpp"
#include "cli/documents/model_drawing.hpp"
#include "cli/options/option_value.hpp"
#include "cli/options/study_options.hpp"
#include "cli/report/fields.hpp"
#include "cli/report/figures.hpp"
#include "core/units.hpp"
#include "estimator/search/granularity.hpp"
#include "model_zoo/files/load_model.hpp"
#include "model_zoo/files/published_accuracy.hpp"
#include "model_zoo/network/input_gradient.hpp"
#include "model_zoo/network/model.hpp"
#include "model_zoo/network/work_depth.hpp"

namespace ddl {
namespace {

struct ShowOptions {
  std::string model, machine, precision;
  std::optional<std::int64_t> batch, sequence;
  std::string input_shape;
};

/// The facts that `models show` prints: a model's work for a number of samples and a precision, and
/// its granularity on a machine.
struct Shown {
  Model model;
  Precision precision = Precision::fp32;
  double samples = 1;
  std::vector<double> kept_bytes;          ///< bytes kept for backward, by layer
  std::vector<bool> needs_input_gradient;  ///< whether the gradient of the layer's input is needed, by layer
  std::vector<bool> of_sample;             ///< by layer: whether its output is an input tensor of the sample
  WorkDepth forward, training;
  GraphGrain grain;
  std::string machine;  ///< empty if the user named no machine
  std::vector<LevelGrain> levels;

  [[nodiscard]] const Layer& at(int layer) const { return model.layers[static_cast<std::size_t>(layer)]; }
  [[nodiscard]] Work work(const Layer& layer, Pass pass) const {
    return layer.operation->work(pass, layer.input_shapes, layer.output_shape);
  }
  [[nodiscard]] double flops(const Layer& layer, Pass pass) const { return work(layer, pass).flops * samples; }
  /// Returns the FLOPs of one pass in training. Layers that need no input gradient run no backward_data.
  [[nodiscard]] double flops_run(Pass pass) const {
    double sum = 0;
    for (std::size_t i = 0; i < model.layers.size(); ++i) {
      if (pass != Pass::backward_data || needs_input_gradient[i]) sum += flops(model.layers[i], pass);
    }
    return sum;
  }
  [[nodiscard]] double all_kept() const { return std::accumulate(kept_bytes.begin(), kept_bytes.end(), 0.0); }
  [[nodiscard]] double grain_flops() const { return flops(at(grain.smallest_node), Pass::forward); }
  [[nodiscard]] double grain_bytes() const {
    return static_cast<double>(at(grain.largest_edge).output_shape.items()) * item_bytes(precision) * samples;
  }
  [[nodiscard]] bool has_grain() const { return grain.smallest_node >= 0 && grain.largest_edge >= 0; }
};

Table layer_table(const Shown& shown) {
  Table table({essential(words("layer")), essential(words("operation")), words("in"), essential(words("out")),
               essential(figures("parameters")), essential(figures("forward")), figures("backward-data"),
               figures("backward-weight"), figures("kept")});
  const auto flops_text = [](double flops) { return flops > 0 ? humanize(Flops(flops)) : "-"; };
  const auto bytes_text = [](double bytes) { return bytes > 0 ? humanize(Bytes(bytes)) : "-"; };
  for (std::size_t i = 0; i < shown.model.layers.size(); ++i) {
    const Layer& layer = shown.model.layers[i];
    const std::string attributes = layer.operation->attributes();
    std::vector<std::string> inputs;
    if (!shown.of_sample[i]) {
      for (const TensorShape& shape : layer.input_shapes) inputs.push_back(to_string(shape));
    }
    // Inputs of the same shape, such as those of a sum, are printed once.
    const bool alike = std::adjacent_find(inputs.begin(), inputs.end(), std::not_equal_to<>()) == inputs.end();
    const std::string in = inputs.size() > 1 && alike ? fmt::format("{} of {}", inputs.size(), inputs.front())
                                                      : fmt::format("{}", fmt::join(inputs, ", "));
    table.add({layer.name, std::string(layer.operation->type()) + (attributes.empty() ? "" : " " + attributes), in,
               to_string(layer.output_shape), layer.parameters() > 0 ? with_thousands(layer.parameters()) : "-",
               flops_text(shown.flops(layer, Pass::forward)),
               shown.needs_input_gradient[i] ? flops_text(shown.flops(layer, Pass::backward_data)) : "-",
               flops_text(shown.flops(layer, Pass::backward_weight)), bytes_text(shown.kept_bytes[i])});
  }
  table.add({"total", "", "", "", with_thousands(shown.model.parameters()), flops_text(shown.flops_run(Pass::forward)),
             flops_text(shown.flops_run(Pass::backward_data)), flops_text(shown.flops_run(Pass::backward_weight)),
             bytes_text(shown.all_kept())});
  return table;
}

Table graph_table(const Shown& shown) {
  Table table({words(""), figures("work W"), figures("depth D"), figures("parallelism W/D")});
  for (const auto& [name, graph] :
       {std::pair{"forward", shown.forward}, std::pair{"forward and backward", shown.training}}) {
    table.add({name, humanize(Flops(graph.work)), whole_text(graph.depth), humanize(Flops(graph.parallelism())) + "/step"});
  }
  return table;
}

/// Formats a ratio, such as work divided by data; `-` if the ratio is undefined.
std::string ratio_text(std::optional<double> ratio) { return ratio ? fmt::format("{:.3g}", *ratio) : "-"; }

Table level_table(const Shown& shown) {
  Table table({words("across"), figures("devices"), figures("T_comp"), figures("T_comm"), figures("T_comp/T_comm"),
               figures("min node"), figures("max edge"), figures("min node/max edge")});
  for (const LevelGrain& level : shown.levels) {
    table.add({level.name, with_thousands(level.devices), humanize(level.computing), humanize(level.communicating),
               ratio_text(level.data_parallel()), humanize(level.smallest_node), humanize(level.largest_edge),
               ratio_text(level.graph())});
  }
  return table;
}

Json graph_json(const Shown& shown) {
  Json json;
  for (const auto& [name, graph] : {std::pair{"forward", shown.forward}, std::pair{"training", shown.training}}) {
    json[name] = {{"work_flops", graph.work}, {"depth", graph.depth}, {"parallelism_flops", graph.parallelism()}};
  }
  if (shown.has_grain()) {
    json["granularity"] = {{"smallest_node", shown.at(shown.grain.smallest_node).name},
                           {"smallest_node_flops", shown.grain_flops()},
                           {"largest_edge", shown.at(shown.grain.largest_edge).name},
                           {"largest_edge_bytes", shown.grain_bytes()},
                           {"flops_per_byte", shown.grain_flops() / shown.grain_bytes()}};
  }
  return json;
}

Json machine_json(const Shown& shown) {
  const Json levels = json_list(shown.levels, [](const LevelGrain& level) -> Json {
    return {{"name", level.name},
            {"devices", level.devices},
            {"computing_s", level.computing.value()},
            {"communicating_s", level.communicating.value()},
            {"computing_over_communicating", or_null(level.data_parallel())},
            {"smallest_node_s", level.smallest_node.value()},
            {"largest_edge_s", level.largest_edge.value()},
            {"smallest_node_over_largest_edge", or_null(level.graph())}};
  });
  return {{"name", shown.machine}, {"levels", levels}};
}

Json layer_json(const Shown& shown, std::size_t index) {
  const Model& model = shown.model;
  const Layer& layer = model.layers[index];
  Json entry;
  entry["name"] = layer.name;
  entry["operation"] = layer.operation->type();
  entry["attributes"] = layer.operation->attributes();
  entry["inputs"] = Json::array();
  const bool of_sample = shown.of_sample[index];
  for (const int input : layer.inputs) {
    if (!of_sample) entry["inputs"].push_back(input < 0 ? "input" : model.layers[static_cast<std::size_t>(input)].name);
  }
  entry["output"] = shape_to_json(layer.output_shape);
  entry["parameters"] = layer.parameters();
  for (const auto& [key, pass] : {std::pair{"forward", Pass::forward}, std::pair{"backward_data", Pass::backward_data},
                                  std::pair{"backward_weight", Pass::backward_weight}}) {
    const Work done = shown.work(layer, pass);
    entry[fmt::format("flops_{}", key)] = done.flops * shown.samples;
    // Number of bytes that a kernel reads and writes.
    entry[fmt::format("bytes_{}", key)] =
        (done.activation_items * shown.samples + done.weight_items) * item_bytes(shown.precision);
  }
  entry["input_shapes"] = of_sample ? Json::array() : json_list(layer.input_shapes, shape_to_json);
  entry["needs_input_gradient"] = static_cast<bool>(shown.needs_input_gradient[index]);
  for (const auto& [key, pass] : {std::pair{"forward", Pass::forward}, std::pair{"backward_data", Pass::backward_data},
                                  std::pair{"backward_weight", Pass::backward_weight}}) {
    entry[fmt::format("depth_{}", key)] =
        layer.operation->depth(pass, layer.input_shapes, layer.output_shape, shown.samples);
  }
  entry["kept_bytes"] = shown.kept_bytes[index];
  return entry;
}

Json model_json(const Shown& shown) {
  const Model& model = shown.model;
  Json json;
  json["schema"] = 1;
  json["name"] = model.name;
  json["description"] = model.description;
  json["source"] = model.source;
  json["input"] = shape_to_json(model.input);
  json["parameters"] = model.parameters();
  json["trained_parameters"] = model.trained_parameters();
  json["buffers"] = model.buffers();
  if (const auto accuracy = published_accuracy(model.name)) {
    json["published_depth"] = accuracy->depth;
    json["published_top1"] = accuracy->top1;
  }
  json["macs_forward"] = model.macs() * shown.samples;
  json["flops_forward"] = model.flops_forward() * shown.samples;
  json["flops_backward_data"] = shown.flops_run(Pass::backward_data);
  json["flops_backward_weight"] = shown.flops_run(Pass::backward_weight);
  json["samples"] = shown.samples;
  json["precision"] = to_string(shown.precision);
  json["kept_bytes"] = shown.all_kept();
  json["graph"] = graph_json(shown);
  if (!shown.machine.empty()) json["machine"] = machine_json(shown);
  json["layers"] = Json::array();
  for (std::size_t i = 0; i < model.layers.size(); ++i) json["layers"].push_back(layer_json(shown, i));
  return json;
}

Document document_of(const Shown& shown) {
  const Model& model = shown.model;
  Document document;
  document.line(model.name, model.description.empty() ? "" : ": " + model.description);
  if (!model.source.empty()) document.paragraph("source: " + model.source, 0, 2);
  const bool is_part = model.trained_parameters() < model.parameters();
  document.line(fmt::format("input {}, {} parameters{}, {} forward and {} multiply-adds per sample, {}",
                            to_string(model.input), with_thousands(model.parameters()),
                            is_part ? fmt::format(" ({} of them trained)", with_thousands(model.trained_parameters())) : "",
                            humanize(Flops(model.flops_forward())), whole_text(model.macs()),
                            count_text(static_cast<std::int64_t>(model.layers.size()), "layer")));
  if (const auto accuracy = published_accuracy(model.name)) {
    document.paragraph(
        fmt::format("published: depth {}, Top-1 {:.1f} % ({})", accuracy->depth, 100 * accuracy->top1, accuracy->source), 0,
        2);
  }
  const std::string batch =
      fmt::format("{}, {}", count_text(static_cast<std::int64_t>(shown.samples), "sample"), to_string(shown.precision));
  document.section("Graph", fmt::format(" ({})", batch));
  document.add(graph_table(shown));
  if (shown.has_grain()) {
    document.line(fmt::format("granularity: {} (least work, {}) / {} (largest tensor, {}) = {:.3g} FLOP/B",
                              humanize(Flops(shown.grain_flops())), shown.at(shown.grain.smallest_node).name,
                              humanize(Bytes(shown.grain_bytes())), shown.at(shown.grain.largest_edge).name,
                              shown.grain_flops() / shown.grain_bytes()),
                  2);
  }
  if (!shown.machine.empty()) {
    document.section("Granularity", fmt::format(" on {} ({} on each device)", shown.machine, batch));
    document.add(level_table(shown));
  }
  document.section("Structure");
  document.add(Verbatim{draw_model(model)});
  document.section("Layers", fmt::format(" ({})", batch));
  document.add(layer_table(shown));
  return document;
}

/// Returns the bytes that each layer keeps for backward. Each tensor counts once, for the layer
/// that produces it. The model's input counts for the layer that reads the input in backward.
std::vector<double> kept_bytes_of(const ModelFacts& facts, Precision precision, double samples) {
  const double item = item_bytes(precision);
  std::vector<double> result;
  for (std::size_t i = 0; i < facts.model->layers.size(); ++i) {
    const Layer& layer = facts.model->layers[i];
    double bytes = facts.kept[i].mask_items + facts.kept[i].extra_items * item;
    if (facts.output_kept[i]) bytes += static_cast<double>(layer.output_shape.items()) * item;
    if (static_cast<int>(i) == facts.batch_keeper) bytes += static_cast<double>(facts.model->input.items()) * item;
    result.push_back(bytes * samples);
  }
  return result;
}

Report show_model(const ShowOptions& options) {
  const auto shown = std::make_shared<Shown>();
  if (!options.precision.empty()) shown->precision = chosen<Precision>("--precision", options.precision);
  shown->samples = static_cast<double>(options.batch.value_or(1));
  if (options.machine.empty()) {
    shown->model = load_model(shaped_model(options.model, options.input_shape), options.sequence);
  } else {
    StudySpec spec;
    spec.model = shaped_model(options.model, options.input_shape);
    spec.sequence = options.sequence;
    spec.machine = options.machine;
    spec.software = no_software;
    spec.precision = shown->precision;
    spec.settings.set("overlap", {0, SettingOrigin::option, {}});
    spec.settings.set("input", {input_none, SettingOrigin::option, {}});
    const Study study(spec);
    shown->model = study.model();
    shown->machine = study.machine().name;
    shown->levels = level_grains(study.job(), shown->precision, study.optimizer(), options.batch.value_or(1));
  }
  const ModelFacts facts = facts_of(shown->model);
  shown->kept_bytes = kept_bytes_of(facts, shown->precision, shown->samples);
  shown->of_sample = facts.of_sample;
  shown->needs_input_gradient = needs_input_gradient(shown->model);
  shown->forward = forward_work_depth(shown->model, shown->samples);
  shown->training = training_work_depth(shown->model, shown->samples);
  shown->grain = graph_grain(shown->model);
  Report report;
  report.warnings = shown->model.warnings;
  report.document = document_of(*shown);
  report.json = [shown] { return model_json(*shown); };
  report.rows = [shown] { return model_json(*shown).at("layers"); };
  return report;
}

}  // namespace

void add_models(const Command& program, Request& request) {
  const Command command = program.add_subcommand("models", "list bundled models, or show one");
  command.require_subcommand();
  command.examples(
      {{"ddl-oracle models list", "the bundled models"},
       {"ddl-oracle models show resnet50", "one model, layer by layer"},
       {"ddl-oracle models import config.json -o mine.yaml", "a model file from a Hugging Face configuration"}});
  add_models_list(command, request);
  const Command shows = command.add_subcommand("show", "layers, shapes, parameters and work of one model");
  auto options = std::make_shared<ShowOptions>();
  shows.add_option("model", options->model, "bundled model, model file or ONNX file").required().names_or_file(model_names);
  add_sample_options(shows, options->sequence, options->input_shape);
  shows
      .add_option("--machine", options->machine,
                  "machine for which the granularity is computed: a bundled one or a "
                  "machine file")
      .names_or_file(machine_names);
  shows.add_option("--precision", options->precision, "fp32, tf32, fp16 or bf16").default_str("fp32");
  shows.examples({{"ddl-oracle models show resnet50", "layers, parameters and work per sample"},
                  {"ddl-oracle models show llama3-8b --seq 4096 --batch 8", "for 8 samples of 4,096 tokens"},
                  {"ddl-oracle models show vgg16 --format csv", "a row for each layer"}});
  // The maximum of --batch, multiplied by the devices of the largest machine, still fits into 64 bits.
  constexpr std::int64_t most_shown_samples = std::int64_t{1} << 30U;
  add_whole_number(shows, "--batch", options->batch, 1, most_shown_samples, "samples for which bytes and FLOPs are shown")
      .default_str("1");
  add_report_options(shows, request.report);
  request.on_choice(shows, [options] {
    return show_model(*options).then({"ddl-oracle", "recommend", options->model, "--machine", "h100", "--gpus", "64"});
  });
  add_models_import(command, request);
}

}  // namespace ddl
