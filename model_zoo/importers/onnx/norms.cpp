// Translates normalizations, which a graph contains as one operator, or as means, squares and roots.

#include <algorithm>
#include <cassert>

#include <fmt/format.h>

#include "model_zoo/importers/onnx/elementwise.hpp"
#include "model_zoo/importers/onnx/names.hpp"
#include "model_zoo/importers/onnx/translation.hpp"

namespace ddl::onnx_import {

Translator translate_batch_norm, translate_layer_norm, translate_group_norm, translate_instance_norm;

namespace {

using Part = Moment::Part;

/// Returns the number of elements of a value outside of the network; -1 for other values, and for unknown shapes.
std::int64_t item_count(const Value& value) {
  if (value.is_network() || !value.shape) return -1;
  std::int64_t count = 1;
  for (const std::int64_t size : *value.shape) count *= size;
  return count;
}

std::optional<double> constant_in(const Value& value) { return value.numbers ? uniform(*value.numbers) : std::nullopt; }

/// Returns whether the exporter generated a scale because the network has none: the scale consists
/// of ones, and its stored tensor has a generated name.
bool is_made_up(const Value& scale) {
  const bool has_name = scale.filled || (scale.named && !scale.source.starts_with("onnx::"));
  return !has_name && constant_in(scale) == 1.0;
}

void without_weights(NetworkLayer& layer) {
  layer.weight.clear();
  layer.set("scale", "no");
  layer.set("bias", "no");
}

bool is_part(const Value& value, Part part) { return value.is_network() && value.moment && value.moment->part == part; }

bool is_centred(const Value& value) { return value.moment && value.moment->centres; }

bool is_small_number(const Value& value) { return item_count(value) == 1; }

Value advanced(const Value& value, Part part) {
  Value result = value;
  result.function = nullptr;
  assert(result.moment);
  result.moment->part = part;
  return result;
}

/// Returns whether a mean reduces exactly one dimension, and this dimension is the channels.
bool is_over_channels(const Translation& translation, const onnx::NodeProto& node, const Value& value) {
  const View& view = value.view;
  const auto axes = integers_of(translation, node, translation.graph().opset() >= 18 ? 1 : -1, "axes");
  if (!axes || axes->size() != 1 || integer_attribute(node, "keepdims", 1) == 0) return false;
  const std::size_t axis = dimension_of(translation, node, axes->front(), view.dimensions.size());
  return has_axis(view.dimensions[axis], channels);
}

std::optional<Value> mean_of(Translation& translation, const onnx::NodeProto& node, const Value& value) {
  if (is_part(value, Part::squares)) return advanced(value, Part::variance);
  if (value.moment || value.scores || !value.pads.empty() || !is_over_channels(translation, node, value))
    return std::nullopt;
  Value mean = value;
  if (is_square(value.function)) {
    mean.function = nullptr;
    mean.moment = Moment{.part = Part::variance, .centres = false};
    return mean;
  }
  mean = {.kind = Value::Kind::network, .view = translation.plain(node, value)};
  mean.moment = Moment{.part = Part::mean};
  return mean;
}

/// Returns the Euclidean norm over the channels, by which `F.normalize` divides. This norm is a constant times the root mean
/// square.
std::optional<Value> length_of(const Translation& translation, const onnx::NodeProto& node, const Value& value) {
  const bool is_tensor = is_linear(value.function) && !value.moment && !value.scores && value.pads.empty();
  if (!is_tensor || !is_over_channels(translation, node, value)) return std::nullopt;
  Value length{.kind = Value::Kind::network, .view = value.view};
  length.moment = Moment{.part = Part::deviation, .centres = false};
  return length;
}

/// Returns whether a node only limits a length from below, or repeats it for each channel.
bool keeps_length(std::string_view kind, const Value& a) {
  return (kind == "Clip" || kind == "Max" || kind == "Expand") && is_part(a, Part::deviation) && !is_centred(a);
}

/// Returns whether `moment` was derived from `x`, which is assumed if both have the same view.
bool is_of(Translation& translation, const onnx::NodeProto& node, const Value& x, const Value& moment) {
  return x.is_network() && !x.moment && !x.scores && x.pads.empty() &&
         same_view(is_linear(x.function) ? x.view : translation.plain(node, x), moment.view);
}

bool has_scale(const Translation& translation, const Value& value, const Value& other) {
  return !other.is_network() && item_count(other) == translation.network().shape(value.view.tensor).channels;
}

std::optional<Value> joined_part(Translation& translation, const onnx::NodeProto& node, const Value& a, const Value& b) {
  const std::string& kind = node.op_type();
  if (kind == "Sub" && is_part(b, Part::mean) && is_of(translation, node, a, b)) return advanced(b, Part::centred);
  const bool squares =
      (kind == "Pow" && constant_in(b) == 2.0) || (kind == "Mul" && is_part(b, Part::centred) && same_view(a.view, b.view));
  if (squares && is_part(a, Part::centred)) return advanced(a, Part::squares);
  if (kind == "Add" && is_part(a, Part::variance) && is_small_number(b)) return a;
  if (kind == "Add" && is_part(b, Part::variance) && is_small_number(a)) return b;
  if (kind == "Pow" && is_part(a, Part::variance) && constant_in(b) == 0.5) return advanced(a, Part::deviation);
  if (kind == "Pow" && is_part(a, Part::variance) && constant_in(b) == -0.5) return advanced(a, Part::inverse);
  if (kind == "Div" && is_part(b, Part::deviation)) {
    if (!a.is_network() && constant_in(a) == 1.0) return advanced(b, Part::inverse);
    const bool fits =
        is_centred(b) ? is_part(a, Part::centred) && same_view(a.view, b.view) : is_of(translation, node, a, b);
    if (fits) return advanced(b, Part::normalized);
  }
  if (kind == "Mul") {
    // The loop tries both orders of the operands.
    for (const auto& [x, y] : {std::pair{&a, &b}, std::pair{&b, &a}}) {
      if (is_part(*y, Part::inverse)) {
        const bool fits =
            is_centred(*y) ? is_part(*x, Part::centred) && same_view(x->view, y->view) : is_of(translation, node, *x, *y);
        if (fits) return advanced(*y, Part::normalized);
      }
      if (is_part(*x, Part::normalized) && has_scale(translation, *x, *y)) {
        Value scaled = advanced(*x, Part::scaled);
        scaled.source = y->source;
        return scaled;
      }
    }
  }
  return std::nullopt;
}

View add_norm(Translation& translation, const onnx::NodeProto& node, const View& view, NetworkLayer layer) {
  View result = translation.gathered(node, view);
  layer.operation = "norm";
  layer.inputs = {result.tensor};
  layer.shape = translation.network().shape(result.tensor);
  layer.name = layer_name(node, layer.weight, "norm");
  // Several readers of a norm share one layer.
  result.tensor = translation.network().add_once(std::move(layer));
  return result;
}

}  // namespace

bool continues_norm(Translation& translation, const onnx::NodeProto& node) {
  const std::string& kind = node.op_type();
  const Value* const first = translation.find_input(node, 0);
  if (first == nullptr) return false;
  const Value a = *first;
  std::optional<Value> result;
  if (kind == "ReduceMean") {
    if (a.is_network()) result = mean_of(translation, node, a);
  } else if (kind == "ReduceL2") {
    if (a.is_network()) result = length_of(translation, node, a);
  } else if (keeps_length(kind, a)) {
    result = a;
  } else if (kind == "Sqrt" && is_part(a, Part::variance)) {
    result = advanced(a, Part::deviation);
  } else if (kind == "Reciprocal" && is_part(a, Part::deviation)) {
    result = advanced(a, Part::inverse);
  } else if ((kind == "Cast" || kind == "Identity") && a.moment) {
    result = a;
  } else if (const Value* const second = translation.find_input(node, 1)) {
    const Value b = *second;
    if (!a.moment && !b.moment) return false;
    for (const auto& [x, y] : {std::pair{&a, &b}, std::pair{&b, &a}}) {
      if (kind != "Add" || !is_part(*x, Part::scaled) || !has_scale(translation, *x, *y)) continue;
      if (const auto view = finished_norm(translation, node, *x, true)) {
        translation.set_view(node, *view);
        return true;
      }
    }
    result = joined_part(translation, node, a, b);
  }
  if (!result) return false;
  translation.set_output(node, std::move(*result));
  return true;
}

std::optional<View> finished_norm(Translation& translation, const onnx::NodeProto& node, const Value& value, bool bias) {
  if (!value.moment) return std::nullopt;
  const Moment& moment = *value.moment;
  const bool scaled = moment.part == Part::scaled;
  if (!scaled && moment.part != Part::normalized) return std::nullopt;
  const bool rms = !moment.centres;
  const bool instance = moment.groups == translation.network().shape(value.view.tensor).channels;
  const std::string kind = rms ? "rms" : instance ? "instance" : moment.groups > 0 ? "group" : "layer";
  NetworkLayer layer{.attributes = {{"kind", kind}}};
  if (kind == "group") layer.set("groups", fmt::to_string(moment.groups));
  if (!scaled) layer.set("scale", "no");
  if (bias == rms) layer.set("bias", bias ? "yes" : "no");
  layer.weight = value.source;
  return add_norm(translation, node, value.view, std::move(layer));
}

void translate_batch_norm(Translation& translation, const onnx::NodeProto& node) {
  View view = translation.gathered(node, translation.plain_input(node, 0));
  if (view.dimensions.size() >= 2 && !is_whole(view, 1, channels, translation.network().shape(view.tensor)))
    view = translation.as_image(node, view);
  const TensorShape shape = translation.network().shape(view.tensor);
  const Value& scale = translation.input(node, 1);
  if (view.dimensions.size() < 2 || !is_whole(view, 1, channels, shape) || item_count(scale) != shape.channels) {
    translation.graph().fail(node, "the second dimension does not match the channels of the scale");
  }
  NetworkLayer layer{.attributes = {{"kind", "batch"}}, .weight = scale.source};
  if (is_made_up(scale)) without_weights(layer);
  translation.set_view(node, add_norm(translation, node, view, std::move(layer)));
  for (int i = 1; i < node.output_size(); ++i) translation.set_output(node, {.kind = Value::Kind::side}, i);
}

void translate_layer_norm(Translation& translation, const onnx::NodeProto& node) {
  View view = translation.gathered(node, translation.plain_input(node, 0));
  const std::size_t rank = view.dimensions.size();
  const std::size_t axis = dimension_of(translation, node, integer_attribute(node, "axis", -1), rank);
  const Value& scale = translation.input(node, 1);
  if (axis + 1 != rank || !is_whole(view, axis, channels, translation.network().shape(view.tensor))) {
    // The last dimensions are normalized, so they become the channels.
    std::vector<int> axes(rank, first_position);
    std::fill(axes.begin() + static_cast<std::ptrdiff_t>(axis), axes.end(), static_cast<int>(channels));
    for (std::size_t d = axis; d < rank; ++d) {
      if (has_axis(view.dimensions[d], batch))
        translation.graph().fail(node, "the samples of the batch are normalized together");
    }
    view = translation.relaid(view, axes, axis > 1);
  }
  const TensorShape shape = translation.network().shape(view.tensor);
  if (item_count(scale) != shape.channels) {
    translation.graph().fail(node, "a dimension other than the channels is normalized",
                             "the scale has a number for each normalized element");
  }
  const bool rms = node.op_type() != "LayerNormalization";
  NetworkLayer layer{.attributes = {{"kind", rms ? "rms" : "layer"}}, .weight = scale.source};
  const Value* const bias = translation.find_input(node, 2);
  if (is_made_up(scale) && (bias == nullptr || !bias->named)) {
    layer.weight.clear();
    layer.set("scale", "no");
    if (!rms) layer.set("bias", "no");
  } else if (!rms && bias == nullptr) {
    layer.set("bias", "no");
  }
  translation.set_view(node, add_norm(translation, node, view, std::move(layer)));
}

/// Translates a group norm that is one operator, with a scale for each channel (before opset 21, for each group).
void translate_group_norm(Translation& translation, const onnx::NodeProto& node) {
  const View view = translation.as_image(node, translation.plain_input(node, 0));
  const std::int64_t count = translation.network().shape(view.tensor).channels;
  const std::int64_t groups = integer_attribute(node, "num_groups", 0);
  if (groups < 1 || count % groups != 0) {
    translation.graph().fail(node, fmt::format("{} channels do not divide into {} groups", count, groups));
  }
  const Value& scale = translation.input(node, 1);
  NetworkLayer layer{.attributes = {{"kind", "group"}, {"groups", fmt::to_string(groups)}}, .weight = scale.source};
  if (is_made_up(scale) || item_count(scale) != count) without_weights(layer);
  translation.set_view(node, add_norm(translation, node, view, std::move(layer)));
}

/// Translates a norm over groups of channels. Either each channel is a group, or a reshape combines
/// channels and a scale follows, as exporters write group norms.
void translate_instance_norm(Translation& translation, const onnx::NodeProto& node) {
  View view = translation.gathered(node, translation.plain_input(node, 0));
  const auto of_channels = [](const Atom& atom) { return atom.axis == channels; };
  if (view.dimensions.size() >= 3 && !std::all_of(view.dimensions[1].begin(), view.dimensions[1].end(), of_channels))
    view = translation.as_image(node, view);
  const TensorShape shape = translation.network().shape(view.tensor);
  const Value& scale = translation.input(node, 1);
  if (view.dimensions.size() < 3) translation.graph().fail(node, "the tensor must have batch, channels and positions");
  const std::int64_t groups = size_of(view.dimensions[1]);
  const bool over_channels = std::all_of(view.dimensions[1].begin(), view.dimensions[1].end(), of_channels);
  if (!over_channels || item_count(scale) != groups) {
    translation.graph().fail(node, "the second dimension does not match the channels of the scale");
  }
  if (groups == shape.channels && !is_made_up(scale)) {
    NetworkLayer layer{.attributes = {{"kind", "instance"}}, .weight = scale.source};
    translation.set_view(node, add_norm(translation, node, view, std::move(layer)));
    return;
  }
  Value value{.kind = Value::Kind::network, .view = view};
  value.moment = Moment{.part = Part::normalized, .groups = groups};
  translation.set_output(node, std::move(value));
}

}  // namespace ddl::onnx_import
