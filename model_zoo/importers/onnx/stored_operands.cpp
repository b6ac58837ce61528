// Translates sums and products of an activation and stored tensors: biases, vectors of positions, trained scales.

#include <algorithm>

#include <fmt/format.h>

#include "core/source_text.hpp"
#include "model_zoo/importers/onnx/names.hpp"
#include "model_zoo/importers/onnx/translation.hpp"

namespace ddl::onnx_import {
namespace {

/// Adds a row of a small table to each token, such as the row of the token's type.
void add_types(Translation& translation, const onnx::NodeProto& node, const View& view, const Value& table,
               std::int64_t rows) {
  const TensorShape shape = translation.network().shape(view.tensor);
  NetworkLayer layer{.operation = "embedding",
                     .attributes = {{"vocabulary", fmt::to_string(rows)}, {"features", fmt::to_string(shape.channels)}},
                     .inputs = {-1},
                     .shape = shape};
  layer.weight = table.source;
  const int types = translation.add_layer(node, std::move(layer), "types");
  View result = view;
  result.tensor = translation.add_layer(node, {.operation = "add", .inputs = {view.tensor, types}, .shape = shape}, "add");
  translation.set_view(node, std::move(result));
}

/// Adds a stored tensor: a bias that the previous layer lacks, or a vector for each position.
bool add_stored(Translation& translation, const onnx::NodeProto& node, int index, const Value& stored) {
  Network& network = translation.network();
  const Value value = translation.input(node, index);
  if (!value.is_network() || !stored.shape) return false;
  View view = translation.gathered(node, translation.plain(node, value));
  const std::vector<std::int64_t> sizes = sizes_of(view);
  const std::size_t rank = sizes.size();
  if (stored.shape->size() > rank) return false;
  // A table of positions belongs to tokens. One number per channel may be the bias of an image.
  const auto is_one = [](std::int64_t size) { return size == 1; };
  if (std::count_if(stored.shape->begin(), stored.shape->end(), is_one) + 1 <
      static_cast<std::ptrdiff_t>(stored.shape->size())) {
    view = translation.with_tokens(view);
  }
  const TensorShape shape = network.shape(view.tensor);
  std::vector<std::int64_t> extended(rank - stored.shape->size(), 1);
  extended.insert(extended.end(), stored.shape->begin(), stored.shape->end());
  bool all_channels = false;
  bool positions = false;
  for (std::size_t d = 0; d < rank; ++d) {
    if (extended[d] == 1) continue;
    if (extended[d] != sizes[d]) return false;
    const bool is_channels = is_whole(view, d, channels, shape);
    if (!is_channels && !is_whole(view, d, first_position, shape)) return false;
    (is_channels ? all_channels : positions) = true;
  }
  if (!all_channels) return false;
  if (!positions) {
    NetworkLayer* const maker = translation.sole_maker(node, index);
    if (maker == nullptr) return false;
    if (maker->operation == "scale" && !maker->has("bias", "yes")) {
      maker->set("bias", "yes");
      translation.set_view(node, view);
      return true;
    }
    if (!maker->has("bias", "no")) return false;
    if (maker->operation != "fully_connected" && maker->operation != "convolution" &&
        maker->operation != "transposed_convolution")
      return false;
    std::erase_if(maker->attributes, [](const auto& attribute) { return attribute.first == "bias"; });
    if (maker->weight.starts_with("onnx::") && !stored.source.empty())
      network.rename(view.tensor, layer_name(node, stored.source, "fc"));
    translation.set_view(node, view);
    return true;
  }
  if (!shape.sequence) return false;
  std::int64_t rows = shape.extent[0];
  if (stored.source_shape.size() >= 2 && stored.source_shape.back() == shape.channels) {
    const std::int64_t table = stored.source_shape[stored.source_shape.size() - 2];
    const bool of_tokens = network.input.sequence && network.input.channels == 1 && network.input.extent == shape.extent;
    if (table > 1 && table < rows && of_tokens) {
      // A table with fewer rows than tokens contains token types, not positions.
      add_types(translation, node, view, stored, table);
      return true;
    }
    rows = std::max(rows, table);
  }
  NetworkLayer layer{.operation = "position_embedding",
                     .attributes = {{"positions", fmt::to_string(rows)}},
                     .inputs = {view.tensor},
                     .shape = shape};
  layer.weight = stored.source;
  View result = view;
  result.tensor = translation.add_layer(node, std::move(layer), "positions");
  translation.set_view(node, std::move(result));
  return true;
}

/// Multiplies each channel by a stored number.
bool scale_stored(Translation& translation, const onnx::NodeProto& node, const Value& value, const Value& stored) {
  if (!stored.shape) return false;
  View view = translation.gathered(node, translation.plain(node, value));
  const TensorShape shape = translation.network().shape(view.tensor);
  const std::size_t rank = view.dimensions.size();
  if (stored.shape->size() > rank) return false;
  bool has_all = false;
  for (std::size_t i = 0; i < stored.shape->size(); ++i) {
    const std::int64_t size = (*stored.shape)[stored.shape->size() - 1 - i];
    if (size == 1) continue;
    if (size != shape.channels || !is_whole(view, rank - 1 - i, channels, shape)) return false;
    has_all = true;
  }
  if (!has_all) return false;
  NetworkLayer layer{.operation = "scale", .attributes = {{"factor", "trained"}}, .inputs = {view.tensor}, .shape = shape};
  layer.weight = stored.source;
  view.tensor = translation.add_layer(node, std::move(layer), "scale");
  translation.set_view(node, std::move(view));
  return true;
}

}  // namespace

void join_stored(Translation& translation, const onnx::NodeProto& node, int index, const Value& stored) {
  const Value value = translation.input(node, index);
  const std::string& kind = node.op_type();
  const bool is_stored = stored.kind == Value::Kind::stored;
  if (kind == "Mul" && is_stored && scale_stored(translation, node, value, stored)) return;
  if ((kind == "Add" || kind == "Sum") && is_stored && add_stored(translation, node, index, stored)) return;
  const std::vector<std::int64_t> sizes = sizes_of(value.view);
  const auto joint = stored.shape ? broadcast(sizes, *stored.shape) : std::nullopt;
  if (!joint) {
    translation.not_understood(node, "an activation is combined with a tensor of unknown or unsuitable size");
    return;
  }
  View view = translation.plain(node, value);
  if (*joint != sizes) view = translation.broadcast_to(node, std::move(view), *joint);
  std::string what = "arithmetic with a tensor of the graph, which counts as one pass over the elements";
  if (stored.named) {
    std::int64_t count = 1;
    for (const std::int64_t size : *stored.shape) count *= size;
    what = fmt::format("arithmetic with the stored tensor {}, whose {} numbers do not count as parameters",
                       quote(stored.source), count);
  }
  translation.pass(node, view, what);
}

}  // namespace ddl::onnx_import
