// Translates matrix products with weights to fully connected layers.

#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "model_zoo/importers/onnx/translation.hpp"

namespace ddl::onnx_import {

Translator translate_product, translate_gemm;

namespace {

/// Returns rows and columns of a stored matrix, which may have further dimensions of size 1; empty for any other value.
std::optional<std::array<std::int64_t, 2>> matrix_sizes(const Value& value) {
  if (value.kind != Value::Kind::stored || !value.shape || value.shape->size() < 2) return std::nullopt;
  const std::vector<std::int64_t>& shape = *value.shape;
  if (std::any_of(shape.begin(), shape.end() - 2, [](std::int64_t size) { return size != 1; })) return std::nullopt;
  const std::array<std::int64_t, 2> sizes{shape[shape.size() - 2], shape.back()};
  if (sizes[0] <= 0 || sizes[1] <= 0) return std::nullopt;
  return sizes;
}

}  // namespace

void add_fully_connected(Translation& translation, const onnx::NodeProto& node, const View& rows, const Value& weight,
                         std::int64_t summed, std::int64_t features, bool bias) {
  Network& network = translation.network();
  TensorShape shape = network.shape(rows.tensor);
  if (summed != shape.channels) {
    translation.graph().fail(node,
                             fmt::format("the weights are for {} channels, but the input has {}", summed, shape.channels));
  }
  shape.channels = features;
  NetworkLayer layer{.operation = "fully_connected",
                     .attributes = {{"features", fmt::to_string(features)}},
                     .inputs = {rows.tensor},
                     .shape = shape};
  if (!bias) layer.set("bias", "no");
  layer.weight = weight.source;
  layer.has_whole_weight = weight.is_whole();
  const int table = network.embedding_with(weight.source);
  if (table >= 0 && weight.source_shape == std::vector<std::int64_t>{features, summed}) {
    layer.set("tied", network.layers[static_cast<std::size_t>(table)].name);
    layer.name = "head";
  }
  View view = rows;
  view.dimensions.back() = whole(channels, features);
  view.tensor = translation.add_layer(node, std::move(layer), "fc");
  translation.set_view(node, std::move(view));
}

void translate_product(Translation& translation, const onnx::NodeProto& node) {
  const Value left = translation.input(node, 0);
  const Value right = translation.input(node, 1);
  if (left.is_network() && right.is_network()) {
    translate_attention(translation, node, left, right);
    return;
  }
  const bool mirrored = right.is_network();
  const Value& weight = mirrored ? left : right;
  const auto sizes = matrix_sizes(weight);
  View view = translation.gathered(node, translation.plain(node, mirrored ? right : left));
  const std::size_t rank = view.dimensions.size();
  if (!sizes || (mirrored && rank < 2)) {
    translation.not_understood(node, "a product with a tensor that is neither a stored matrix nor part of an attention");
    return;
  }
  if (!mirrored) {
    const View rows = translation.as_rows(node, view);
    add_fully_connected(translation, node, rows, weight, (*sizes)[0], (*sizes)[1], false);
    return;
  }
  // This is the product W·x, which sums over the last but one dimension of x.
  std::swap(view.dimensions[rank - 1], view.dimensions[rank - 2]);
  add_fully_connected(translation, node, translation.as_rows(node, view), weight, (*sizes)[1], (*sizes)[0], false);
  View result = translation.output(node).view;
  std::swap(result.dimensions[rank - 1], result.dimensions[rank - 2]);
  translation.set_view(node, std::move(result));
}

void translate_gemm(Translation& translation, const onnx::NodeProto& node) {
  const Value left = translation.input(node, 0);
  const Value right = translation.input(node, 1);
  const bool is_transposed = integer_attribute(node, "transB", 0) != 0;
  const auto sizes = matrix_sizes(right);
  if (!left.is_network() || !sizes || integer_attribute(node, "transA", 0) != 0) {
    translation.not_understood(node, "a product with a tensor that is neither a stored matrix nor part of an attention");
    return;
  }
  const View rows = translation.as_rows(node, translation.plain(node, left));
  add_fully_connected(translation, node, rows, right, (*sizes)[is_transposed ? 1 : 0], (*sizes)[is_transposed ? 0 : 1],
                      translation.find_input(node, 2) != nullptr);
}

}  // namespace ddl::onnx_import
