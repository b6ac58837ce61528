// Translates reductions: global pooling, and means, sums and maxima over some dimensions.

#include <algorithm>

#include "model_zoo/importers/onnx/translation.hpp"

namespace ddl::onnx_import {

Translator translate_global_pool, translate_reduction;

namespace {

/// Returns the kind of pooling with the cost of a reduction. Means, sums and norms cost as much as
/// average pooling, which reads all elements once. Maxima and minima also store an index.
std::string_view kind_of(const std::string& operation) {
  constexpr std::string_view maxima[] = {"GlobalMaxPool", "ReduceMax", "ReduceMin"};
  return std::find(std::begin(maxima), std::end(maxima), operation) != std::end(maxima) ? "max" : "average";
}

/// Reduces all positions of a whole tensor; returns the index of the layer.
int pooled(Translation& translation, const onnx::NodeProto& node, int tensor) {
  TensorShape shape = translation.network().shape(tensor);
  shape.extent = {1, 1, 1};
  NetworkLayer layer{.operation = "pool",
                     .attributes = {{"kind", std::string(kind_of(node.op_type()))}, {"global", "yes"}},
                     .inputs = {tensor},
                     .shape = shape};
  return translation.add_layer(node, std::move(layer), "pool");
}

}  // namespace

void translate_global_pool(Translation& translation, const onnx::NodeProto& node) {
  const View image = translation.as_image(node, translation.plain_input(node, 0));
  if (image.dimensions.size() < 3) translation.graph().fail(node, "the input has no positions to pool");
  const int tensor = pooled(translation, node, image.tensor);
  translation.set_view(node, image_view(tensor, image.dimensions[0], translation.network().shape(tensor)));
}

/// Translates a reduction. A reduction over all positions is a pooling. For other dimensions, a reshape first makes them
/// positions. A mean over channels that is part of a norm was already handled by continues_norm.
void translate_reduction(Translation& translation, const onnx::NodeProto& node) {
  View view = translation.gathered(node, translation.plain_input(node, 0));
  // `axes` is an input since opset 18; for ReduceSum, since opset 13.
  const int since = node.op_type() == "ReduceSum" ? 13 : 18;
  const auto axes = integers_of(translation, node, translation.graph().opset() >= since ? 1 : -1, "axes");
  const bool all = !axes || axes->empty();
  if (all && integer_attribute(node, "noop_with_empty_axes", 0) != 0) {
    translation.set_view(node, std::move(view));
    return;
  }
  std::vector<bool> taken(view.dimensions.size(), all);
  if (!all) {
    for (const std::int64_t axis : *axes) taken[dimension_of(translation, node, axis, taken.size())] = true;
  }
  for (std::size_t d = 0; d < taken.size(); ++d) {
    if (!taken[d] || !has_axis(view.dimensions[d], batch)) continue;
    translation.not_understood(node, "samples of the batch are combined, which is supported in a loss only");
    return;
  }
  translation.set_view(node, translation.reduced(node, view, taken, integer_attribute(node, "keepdims", 1) != 0));
}

View Translation::reduced(const onnx::NodeProto& node, const View& asked, const std::vector<bool>& taken, bool keeps) {
  View view = asked;
  bool pools = network_.shape(view.tensor).rank > 0;
  for (std::size_t d = 0; d < taken.size(); ++d) {
    for (const Atom& atom : view.dimensions[d])
      pools = pools && (atom.axis == batch || taken[d] == (atom.axis >= first_position));
  }
  if (!pools) {
    std::vector<int> roles;
    for (const bool is_reduced : taken) roles.push_back(is_reduced ? first_position : channels);
    view = relaid(view, roles, false);
  }
  View result = view;
  if (network_.shape(view.tensor).rank > 0) result.tensor = pooled(*this, node, view.tensor);
  result.dimensions.clear();
  for (std::size_t d = 0; d < taken.size(); ++d) {
    if (!taken[d]) result.dimensions.push_back(view.dimensions[d]);
    if (taken[d] && keeps) result.dimensions.emplace_back();
  }
  return result;
}

}  // namespace ddl::onnx_import
