#include <algorithm>
#include <array>
#include <optional>
#include <ranges>
#include <string>
#include <variant>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/report/shell_words.hpp"
#include "cli/tools/launcher.hpp"
#include "cli/tools/network_of.hpp"
#include "core/find.hpp"
#include "estimator/choices/plan_choice.hpp"
#include "estimator/strategies/strategy.hpp"
#include "model_zoo/files/bundled_name.hpp"

namespace ddl {
namespace {

/// How parallel_layers.py splits the linear layers at the end of a network.
struct LayerSplits {
  int ranks = 1;  ///< number of ranks that split a layer
  /// A row for each linear layer from the first split layer on: empty, or the part of the weights that a rank has, and how
  /// the ranks share the input and the output (`["columns", "samples", "channels"]`).
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
};

constexpr Family data = family_bit(Axis::data);

/// The only axis of a mesh, other than data, that divides layers; empty if there is none, or if there are several.
std::optional<Axis> split_axis(const Mesh& mesh) {
  for (const Axis axis : {Axis::tensor, Axis::filter, Axis::channel}) {
    if ((mesh.family() & ~data) == family_bit(axis)) return axis;
  }
  return std::nullopt;
}

/// Returns why the script cannot run the meshes and choices of a plan whose first layers have data parallelism.
std::optional<CannotLaunch> lacks_layouts(const Plan& plan, const std::vector<Mesh>& meshes) {
  const auto split = split_axis(meshes.back());
  if (meshes.size() < 2 || !split)
    return CannotLaunch{"the script shards layers only by tensor, filter or channel parallelism"};
  for (const Mesh& mesh : meshes) {
    if (mesh == meshes.front()) continue;
    const std::optional<Axis> axis = split_axis(mesh);
    if (!axis || mesh[*axis] != meshes.back()[*split])
      return CannotLaunch{"the script shards all layers among the same number of ranks"};
    const auto place = [&](Axis each) { return std::find(plan.placement.begin(), plan.placement.end(), each); };
    if (mesh[Axis::data] > 1 && place(*axis) > place(Axis::data))
      return CannotLaunch{"ranks that share a layer are neighbors in the script, but not in the plan"};
  }
  if (plan.zero_stage > 0) return CannotLaunch{"the script does not combine ZeRO with several layouts: --zero 0"};
  if (plan.recompute != Recompute::none)
    return CannotLaunch{"the script does not combine recomputation with several layouts"};
  if (plan.precision == Precision::fp16)
    return CannotLaunch{"the script does not scale losses with several layouts: --precision bf16"};
  if (plan.global_batch % (plan.mesh.devices() * plan.micro_batches) != 0)
    return CannotLaunch{"if layers have several layouts, all ranks of the script have equally many samples"};
  return std::nullopt;
}

/// Returns how a rank of a split runs a layer; empty if the layer is whole or the ranks' parts are unequal.
nlohmann::ordered_json split_of(const LaunchRequest& request, int layer) {
  const Plan own = on_mesh(request.plan(), mesh_of(request.plan(), layer));
  const auto axis = static_cast<std::size_t>(*split_axis(own.mesh));
  LayerShard shard;
  shard_layer({request.study.job().facts, own, request.study.assumptions(), layer}, shard);
  const AxisLayout& layout = shard.layouts[axis];
  const auto word = [](Spread spread) { return spread == Spread::channels ? "channels" : "whole"; };
  const int ranks = own.mesh[static_cast<Axis>(axis)];
  const Layer& at = request.study.model().layers[static_cast<std::size_t>(layer)];
  if (layout.read == Spread::channels && at.input_shapes.front().items() % ranks == 0)
    return {"rows", word(layout.input), word(layout.output)};
  if (layout.written == Spread::channels && at.output_shape.channels % ranks == 0)
    return {"columns", word(layout.input), word(layout.output)};
  return {};
}

/// Returns how parallel_layers.py runs a plan with segments, or why the script cannot run it.
std::variant<LayerSplits, CannotLaunch> layer_splits(const LaunchRequest& request) {
  const Plan& plan = request.plan();
  const Model& model = request.study.model();
  const std::vector<Mesh> meshes = meshes_of(plan);
  if (std::optional<CannotLaunch> lacks = lacks_layouts(plan, meshes)) return *lacks;
  LayerSplits splits;
  splits.ranks = meshes.back()[*split_axis(meshes.back())];
  const auto is_split = [](const nlohmann::ordered_json& row) { return !row.is_null(); };
  for (std::size_t i = static_cast<std::size_t>(plan.segments.front().first); i < model.layers.size(); ++i) {
    const Layer& layer = model.layers[i];
    if (layer.parameters() == 0) continue;
    if (layer.operation->type() != "fully_connected")
      return CannotLaunch{
          fmt::format("the script shards only linear layers at the end of a network, but {} is not linear", layer.name)};
    const bool before = !splits.rows.empty() && is_split(splits.rows.back());
    if (mesh_of(plan, static_cast<int>(i)) == meshes.front()) {
      if (before) splits.rows.back().back() = "samples";
      splits.rows.push_back(nullptr);
      continue;
    }
    nlohmann::ordered_json row = split_of(request, static_cast<int>(i));
    if (row.is_null())
      return CannotLaunch{fmt::format("the script shards layers into equal parts, but {} is not divisible", layer.name)};
    row[1] = before ? splits.rows.back().back() : "samples";
    splits.rows.push_back(std::move(row));
  }
  // Each rank computes the loss of its own samples.
  if (!splits.rows.empty() && is_split(splits.rows.back())) splits.rows.back().back() = "samples";
  return splits;
}

using Json = nlohmann::ordered_json;

std::string script(std::string_view name) {
  for (const EmbeddedFile& file : launch_scripts()) {
    if (file.name == name) return std::string(file.content);
  }
  return {};
}

/// Converts a value to a Python literal. Python source must be UTF-8, so invalid bytes, for example in a path, are replaced.
std::string python(const Json& value) {
  if (value.is_boolean()) return value.get<bool>() ? "True" : "False";
  if (value.is_null()) return "None";
  if (value.is_array()) {
    std::string text;
    for (const Json& element : value) text += (text.empty() ? "" : ", ") + python(element);
    return "[" + text + "]";
  }
  if (!value.is_object()) return value.dump(-1, ' ', true, Json::error_handler_t::replace);
  std::string text = "{\n";
  for (const auto& [key, element] : value.items()) text += fmt::format("    {}: {},\n", python(Json(key)), python(element));
  return text + "}";
}

/// Returns a row of a table of measured runs (docs/runs.md), without the columns of measured values.
Json row_of(const LaunchRequest& request) {
  const Study& study = request.study;
  const Plan& plan = request.plan();
  const Assumptions& assumptions = study.assumptions();
  const auto text_of = [](const Mesh& mesh) {
    std::string text;
    for (const Axis axis : spoken_axes) {
      if (mesh[axis] > 1) text += fmt::format("{}{}={}", text.empty() ? "" : ",", to_string(axis), mesh[axis]);
    }
    return text;
  };
  std::string degrees = text_of(plan.mesh);
  for (const LayerSegment& each : plan.segments) degrees += fmt::format(" from{}:{}", each.first, text_of(each.mesh));
  const std::string& software = study.spec().software;
  std::string name = study.spec().model;
  if (!is_path(name)) {
    name = study.model().name;  // the model's name includes all parameters of its family
  } else if (const auto& sequence = study.spec().sequence) {
    name += fmt::format("@tokens={}", *sequence);
  }
  Json row{
      {"model", name},
      {"strategy", plan.mesh.family() == 0 ? "data" : family_name(plan.mesh.family())},
      {"gpus", plan.mesh.devices()},
      {"gpus_per_node", launch_nodes(request).devices_per_node},
      {"degrees", degrees},
      {"global_batch", plan.global_batch},
      {"micro_batch", micro_batch_size(plan)},
      {"precision", to_string(plan.precision)},
      {"machine", study.spec().machine},
      {"software", !software.empty()               ? software
                   : study.software().name.empty() ? no_software
                                                   : study.software().name},
      {"memory_format", has_layout(study.model()) ? memory_format_names[assumptions.memory_format] : std::string_view()},
      {"mixed_precision",
       is_mixed(plan.precision) ? mixed_precision_names[assumptions.mixed_precision] : std::string_view()}};
  for (const PlanChoiceRow& choice : plan_choices()) {
    const int value = choice.get(plan);
    row[std::string(choice.key)] = choice.first_number ? Json(*choice.first_number + value) : Json(choice.name(value));
  }
  return row;
}

/// Returns the command that uses the row that measure.py writes into TABLE: it fits coefficients, or compares the row with
/// its prediction if layers have several layouts. The command names the profiles of the prediction, because factors fitted
/// without profiles do not apply to a prediction with profiles.
std::string calibrate_command(const LaunchRequest& request) {
  const StudySpec& spec = request.study.spec();
  const bool fits = request.plan().segments.empty();
  std::vector<std::string> words{"ddl-oracle"};
  if (fits) {
    words.insert(words.end(), {"calibrate", "runs"});
  } else {
    words.emplace_back("validate");
  }
  words.insert(words.end(), {"TABLE", "--machine", spec.machine});
  for (const std::string& file : spec.profiles.files) words.insert(words.end(), {"--profile", file});
  if (spec.profiles.any_device) words.emplace_back("--any-device");
  if (fits) words.insert(words.end(), {"--output", "coefficients.yaml"});
  return shell_words(words);
}

/// Returns the number of classes: the output channels of the last layer with weights. Only a
/// softmax and a loss may follow this layer.
std::int64_t classes_of(const Model& model) {
  for (const Layer& layer : std::views::reverse(model.layers)) {
    if (layer.weights > 0 && !layer.auxiliary) return layer.output_shape.channels;
  }
  return 1;
}

/// Returns for each block whether parallel_fsdp.py frees its weights after forward, or why the script cannot run the ZeRO
/// stages of a plan. The other layers are one unit.
std::variant<Json, CannotLaunch> resharded_blocks(const LaunchRequest& request) {
  const Plan& plan = request.plan();
  if (plan.mesh.devices() != plan.mesh[Axis::data] || !plan.segments.empty())
    return CannotLaunch{"the script has several ZeRO stages with data parallelism alone"};
  if (!hugging_face_network(request.study.model()))
    return CannotLaunch{"the script has several ZeRO stages only for networks of transformers"};
  Json blocks = Json::array();
  int block = -1, stage = plan.zero_stage;
  const std::vector<Layer>& layers = request.study.model().layers;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    if (layers[i].parameters() == 0) continue;
    const int own = zero_stage_of(plan, static_cast<int>(i));
    if (own < 2) return CannotLaunch{"of several ZeRO stages, its script has ZeRO-2 and ZeRO-3"};
    if (layers[i].block >= 0 && layers[i].block != block) {
      block = layers[i].block;
      stage = own;
      blocks.push_back(own == 3);
    }
    if (own != (layers[i].block >= 0 ? stage : zero_stage_of(plan, 0)))
      return CannotLaunch{"in its script, each block has one ZeRO stage, and so have all other layers together"};
  }
  return blocks;
}

std::string plan_module(const LaunchRequest& request, const HuggingFaceNetwork* network, const LayerSplits* splits) {
  const Study& study = request.study;
  const Plan& plan = request.plan();
  const Model& model = study.model();
  const bool is_processor = study.machine().device.is_processor;
  std::string text =
      "\"\"\"The values of the plan that train.py follows, as ddl-oracle predicted it, without the "
      "scripts' own choices.\"\"\"\n\n";
  const auto set = [&](std::string_view name, const Json& value) { text += fmt::format("{} = {}\n", name, python(value)); };
  set("DEVICES", plan.mesh.devices());
  set("ON_PROCESSOR", is_processor);
  set("DATA", plan.mesh[Axis::data]);
  set("TENSOR", plan.mesh[Axis::tensor]);
  set("GLOBAL_BATCH", plan.global_batch);
  set("MICRO_BATCHES", plan.micro_batches);
  set("ZERO_STAGE", plan.zero_stage);
  const int whole = plan.zero_stage == 0 ? 1 : plan.mesh[Axis::data];
  set("SHARD_GROUP", plan.zero_stage == 0 || plan.shard_group == 0 ? whole : plan.shard_group);
  // RESHARD is the argument reshard_after_forward of fully_shard. A number means groups of that size with secondary shards.
  set("RESHARD", plan.secondary_shards > 1 ? Json(plan.secondary_shards) : Json(plan.zero_stage == 3));
  if (!plan.zero_segments.empty()) set("RESHARD_BLOCKS", std::get<Json>(resharded_blocks(request)));
  set("RECOMPUTE", to_string(plan.recompute));
  set("RECOMPUTE_BLOCKS", plan.recompute_blocks);
  set("PRECISION", is_processor && plan.precision == Precision::tf32 ? "fp32" : to_string(plan.precision));
  const bool has_half_gradients = study.assumptions().mixed_precision == MixedPrecision::half_gradients;
  set("GRADIENTS_IN_HALF", study.assumptions().gradient_sums.value_or(
                               has_half_gradients ? GradientSums::half : GradientSums::full) == GradientSums::half);
  set("OPTIMIZER", to_string(plan.optimizer));
  set("COMPRESSION", compression_names[study.assumptions().compression]);
  set("COMPRESSION_RANK", static_cast<std::int64_t>(study.assumptions().compression_rank));
  set("LOCAL_STEPS", static_cast<std::int64_t>(study.assumptions().local_steps));
  set("COMPILE", study.software().name == "pytorch-compiled" || study.software().name == "torchtitan");
  set("CHANNELS_LAST", has_layout(model) && study.assumptions().memory_format == MemoryFormat::channels_last);
  set("PARAMETERS", model.parameters());
  text += "\n";
  if (network != nullptr) {
    set("MODEL_TYPE", network->model_type);
    set("MASKED", network->is_masked);
    set("ATTENTION", family_flag(model, "fused") ? "sdpa" : "eager");
    set("TOKENS", model.sequence_length);
    set("CONFIG", network->config);
    // Whether weights get memory only after they are sharded.
    set("DEFERRED", plan.zero_stage >= 2 || plan.mesh[Axis::tensor] > 1);
  } else {
    set("MODEL", model.name);
    Json shape = Json::array({model.input.channels});
    for (int d = 0; d < model.input.rank; ++d) shape.push_back(model.input.extent[static_cast<std::size_t>(d)]);
    set("SAMPLE_SHAPE", shape);
    set("CLASSES", classes_of(model));
  }
  text += "\n";
  if (splits != nullptr) {
    set("SPLIT_RANKS", splits->ranks);
    text += "# For each linear layer at the end: the part of the weights, and how ranks share the input and the output.\n";
    set("SPLITS", splits->rows);
    text += "\n";
  }
  set("PREDICTED_S", request.estimate.time.step_time().value());
  set("CALIBRATE", calibrate_command(request));
  text += "# A row of a table of runs, without the columns that measure.py adds.\n";
  set("ROW", row_of(request));
  return text;
}

std::string run_script(const LaunchNodes& nodes) {
  std::string text =
      "#!/bin/sh\n"
      "# Launches train.py, or the given script, on every device of the plan.\n";
  if (nodes.nodes > 1) {
    text += fmt::format(
        "# On each of the {} nodes: MASTER_ADDR=the-first-node run.sh [SCRIPT] [OPTIONS]. job.sbatch does that under "
        "Slurm.\n",
        nodes.nodes);
  }
  text +=
      "set -eu\n"
      "folder=$(dirname \"$0\")\n"
      "case \"${1:-}\" in\n"
      "  *.py) script=$1; shift ;;\n"
      "  *) script=train.py ;;\n"
      "esac\n";
  text += fmt::format("exec {} \"$folder/$script\" \"$@\"\n", torchrun_command(nodes));
  return text;
}

/// Choices that the scripts support, at least with some values. launch_torchrun checks the values.
constexpr std::array known_choices{PlanChoice::zero,
                                   PlanChoice::shard_group,
                                   PlanChoice::reshard,
                                   PlanChoice::recompute,
                                   PlanChoice::recompute_blocks,
                                   PlanChoice::secondary_shards,
                                   PlanChoice::sequence_parallel};

/// The optimizers of train.py (build_optimizer).
constexpr std::array known_optimizers{Optimizer::sgd, Optimizer::momentum, Optimizer::adam, Optimizer::adamw,
                                      Optimizer::adafactor};

/// Returns why the scripts do not support the plan's choices; empty if they do. Does not check the
/// plan's axes and the model.
std::optional<std::string> refused_choice(const Plan& plan) {
  if (is_narrow(plan.precision)) {
    const bool is_megatrons = plan.precision == Precision::fp8 || plan.precision == Precision::nvfp4;
    return fmt::format("PyTorch has no native {} training{}", to_string(plan.precision),
                       is_megatrons ? ", but Megatron-LM has" : "");
  }
  if (!contains(known_optimizers, plan.optimizer))
    return fmt::format("the script has no --optimizer {}", to_string(plan.optimizer));
  if (plan.recompute == Recompute::selective) return "the script only recomputes whole layers";
  if (plan.mesh[Axis::data] > 1 && plan.global_batch < plan.mesh[Axis::data]) return "a rank would have no samples";
  for (const PlanChoiceRow& row : plan_choices()) {
    const bool is_known = contains(known_choices, row.choice);
    if (is_known || row.get(plan) == 0 || !row.matters(plan.mesh) || (row.counts != nullptr && !row.counts(plan))) continue;
    return fmt::format("the script has no --{} {}", row.option, row.name(row.get(plan)));
  }
  return std::nullopt;
}

/// Returns whether the plan fits if each rank has weights and gradients in fp32, and copies of the weights in half
/// precision, as autocast has them. True if the plan's memory is not known.
bool fits_in_autocast(const LaunchRequest& request) {
  const MemoryBreakdown& memory = request.estimate.memory;
  // Half precision: 2 bytes each for weights and gradients, and a third of Adam's 12 bytes is the master copy.
  const bool is_adam = request.plan().optimizer == Optimizer::adam || request.plan().optimizer == Optimizer::adamw;
  const Bytes master = is_adam ? memory.optimizer / 3.0 : Bytes{};
  return memory.total() + 2.0 * memory.weights + memory.gradients - master <= request.study.machine().device.memory;
}

/// The settings of a training that the scripts carry.
std::vector<std::string_view> carried_by(bool is_data_parallel, bool has_hooks) {
  std::vector<std::string_view> carried{"cross_entropy=operators"};
  if (!is_data_parallel) {
    carried.insert(carried.end(), {"mixed_precision=half full", "gradient_sums"});
    return carried;
  }
  carried.emplace_back("mixed_precision=autocast");
  if (has_hooks) carried.insert(carried.end(), {"compress=fp16 bf16 powersgd", "local_steps"});
  return carried;
}

}  // namespace

LaunchOutcome launch_torchrun(const LaunchRequest& request) {
  const Plan& plan = request.plan();
  const Study& study = request.study;
  constexpr Family run = family_bit(Axis::data) | family_bit(Axis::tensor);
  if (const std::string axes = axes_other_than(plan, run); !axes.empty())
    return CannotLaunch{fmt::format("the script has no {} parallelism", axes)};
  if (const std::optional<std::string> reason = refused_choice(plan)) return CannotLaunch{*reason};
  if (std::optional<CannotLaunch> lacks = lacks_frozen_parts(request)) return *lacks;
  if (plan.zero_stage == 3 && !plan.reshard)
    return CannotLaunch{"the script reshards the weights of ZeRO-3 after forward: --zero 2 keeps them"};

  const bool is_torchvision = is_torchvision_model(study);
  const std::optional<HuggingFaceNetwork> network = is_torchvision ? std::nullopt : hugging_face_network(study.model());
  if (!is_torchvision && !network) {
    return CannotLaunch{fmt::format(
        "the script supports networks of torchvision and Hugging Face's transformers, but not {}", study.model().name)};
  }
  const bool is_tensor = plan.mesh[Axis::tensor] > 1, is_sharded = plan.zero_stage >= 2;
  if (is_tensor && (!network || !network->has_llama_projections))
    return CannotLaunch{"tensor parallelism of the script supports Llama-like transformers only"};
  if (is_tensor && plan.sequence_parallel)
    return CannotLaunch{"the script has no sequence parallelism: Megatron-LM and torchtitan have it"};
  if (is_tensor && plan.zero_stage == 1)
    return CannotLaunch{"the script has no ZeRO-1 with tensor parallelism: Megatron-LM has it"};
  if (is_tensor && family_number(study.model(), "kv_heads") % plan.mesh[Axis::tensor] != 0)
    return CannotLaunch{"the tensor degree does not divide the key-value heads"};
  if (is_tensor && placement_text(plan).starts_with("data"))
    return CannotLaunch{
        "tensor-parallel ranks are neighbors in the script, but data-parallel ranks are neighbors in the plan"};
  if (plan.zero_stage == 1 && plan.shard_group != 0)
    return CannotLaunch{"ZeroRedundancyOptimizer shards among all ranks, not in groups"};

  if (!plan.zero_segments.empty()) {
    const auto blocks = resharded_blocks(request);
    if (const auto* const cannot = std::get_if<CannotLaunch>(&blocks)) return *cannot;
  }
  std::optional<LayerSplits> splits;
  if (!plan.segments.empty()) {
    if (!is_torchvision) return CannotLaunch{"the script supports several layouts only for networks of torchvision"};
    std::variant<LayerSplits, CannotLaunch> found = layer_splits(request);
    if (auto* const cannot = std::get_if<CannotLaunch>(&found)) return *cannot;
    splits = std::get<LayerSplits>(std::move(found));
  }

  const bool is_data_parallel = !is_tensor && !is_sharded;
  const bool differs =
      is_data_parallel && is_mixed(plan.precision) && study.assumptions().mixed_precision != MixedPrecision::autocast;
  if (differs && !fits_in_autocast(request))
    return CannotLaunch{
        "the script keeps weights in fp32 under autocast, and the plan then does not fit: --mixed-precision autocast"};

  const std::string_view parallel = splits       ? "parallel_layers"
                                    : is_tensor  ? "parallel_tensor"
                                    : is_sharded ? "parallel_fsdp"
                                                 : "parallel_ddp";
  Launch launch;
  launch.files = {{"launch/plan.py", plan_module(request, network ? &*network : nullptr, splits ? &*splits : nullptr)},
                  {"launch/model.py", script(network ? "model_hugging_face" : "model_torchvision")},
                  {"launch/parallel.py", script(parallel)},
                  {"launch/train.py", script("train")},
                  {"launch/measure.py", script("measure")},
                  {"launch/run.sh", run_script(launch_nodes(request)), true}};
  launch.start = told_first_node(launch_nodes(request), "launch/run.sh --steps 100");
  launch.job = job_script("launch/run.sh");
  launch.carried = carried_by(is_data_parallel, plan.zero_stage == 0 && !splits);
  if (differs) {
    launch.notes.emplace_back(
        "the script keeps weights in fp32 under autocast: predict this with --mixed-precision autocast");
  }
  return launch;
}

}  // namespace ddl
