#include "cli/tools/layer_splits.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "estimator/strategies/strategy.hpp"

namespace ddl {
namespace {

constexpr Family data = family_bit(Axis::data);

/// The axis other than data along which a mesh divides layers; empty if there is none or several.
std::optional<Axis> split_axis(const Mesh& mesh) {
  for (const Axis axis : {Axis::tensor, Axis::filter, Axis::channel}) {
    if ((mesh.family() & ~data) == family_bit(axis)) return axis;
  }
  return std::nullopt;
}

/// Returns why the script cannot run the meshes and choices of a plan whose first layers have data parallelism.
std::optional<CannotLaunch> lacks_layouts(const Plan& plan, const std::vector<Mesh>& meshes) {
  const auto split = split_axis(meshes.back());
  if (meshes.size() < 2 || !split) return CannotLaunch{"its script splits layers by tensor, filter or channel parallelism"};
  for (const Mesh& mesh : meshes) {
    if (mesh == meshes.front()) continue;
    const std::optional<Axis> axis = split_axis(mesh);
    if (!axis || mesh[*axis] != meshes.back()[*split])
      return CannotLaunch{"its script splits all layers among equally many ranks"};
    const auto place = [&](Axis each) { return std::find(plan.placement.begin(), plan.placement.end(), each); };
    if (mesh[Axis::data] > 1 && place(*axis) > place(Axis::data))
      return CannotLaunch{"ranks that split a layer are neighbors in its script, but not in the plan"};
  }
  if (plan.zero_stage > 0) return CannotLaunch{"its script has no ZeRO with several layouts: --zero 0"};
  if (plan.recompute != Recompute::none) return CannotLaunch{"its script recomputes nothing with several layouts"};
  if (plan.precision == Precision::fp16)
    return CannotLaunch{"its script does not scale losses with several layouts: --precision bf16"};
  if (plan.global_batch % (plan.mesh.devices() * plan.micro_batches) != 0)
    return CannotLaunch{"in its script, all ranks have equally many samples if layers have several layouts"};
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

}  // namespace

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
          fmt::format("its script splits the linear layers at the end of a network, but {} is none", layer.name)};
    const bool before = !splits.rows.empty() && is_split(splits.rows.back());
    if (mesh_of(plan, static_cast<int>(i)) == meshes.front()) {
      if (before) splits.rows.back().back() = "samples";
      splits.rows.push_back(nullptr);
      continue;
    }
    nlohmann::ordered_json row = split_of(request, static_cast<int>(i));
    if (row.is_null())
      return CannotLaunch{fmt::format("its script divides layers into equal parts, but not {}", layer.name)};
    row[1] = before ? splits.rows.back().back() : "samples";
    splits.rows.push_back(std::move(row));
  }
  // Each rank computes the loss of its own samples.
  if (!splits.rows.empty() && is_split(splits.rows.back())) splits.rows.back().back() = "samples";
  return splits;
}

}  // namespace ddl
