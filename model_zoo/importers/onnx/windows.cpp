// Operators with a sliding window: convolutions and pooling.

#include <algorithm>
#include <cassert>
#include <cmath>
#include <string>

#include <fmt/format.h>

#include "core/source_text.hpp"
#include "model_zoo/importers/onnx/shape_inference.hpp"
#include "model_zoo/importers/onnx/translation.hpp"

namespace ddl::onnx_import {

Translator translate_convolution, translate_transposed_convolution, translate_pool, translate_global_pool, translate_mean,
    translate_pad, translate_resize;

namespace {

using Sizes = std::vector<std::int64_t>;

struct Window {
  Sizes kernel{}, stride{}, dilation{}, before{}, after{};
  bool ceil = false;
};

Sizes attribute_of(const Translation& translation, const onnx::NodeProto& node, std::string_view name, std::size_t count,
                   std::int64_t low, std::int64_t otherwise) {
  constexpr std::int64_t largest = std::int64_t{1} << 31U;
  if (find_attribute(node, name) == nullptr) return Sizes(count, otherwise);
  Sizes sizes = integers_attribute(node, name);
  if (sizes.size() != count) {
    translation.graph().fail(node, fmt::format("{} has {} sizes instead of {}", name, sizes.size(), count));
  }
  for (const std::int64_t size : sizes) {
    if (size < low || size > largest) translation.graph().fail(node, fmt::format("{} cannot be {}", name, size));
  }
  return sizes;
}

/// The window of a node on an input with these positions, including pending padding of the input.
Window window_of(const Translation& translation, const onnx::NodeProto& node, const Sizes& kernel, const Sizes& extents,
                 const Sizes& waiting) {
  const std::size_t rank = kernel.size();
  Window window{.kernel = kernel};
  window.stride = attribute_of(translation, node, "strides", rank, 1, 1);
  window.dilation = attribute_of(translation, node, "dilations", rank, 1, 1);
  Sizes pads = attribute_of(translation, node, "pads", 2 * rank, 0, 0);
  if (text_attribute(node, "auto_pad", "NOTSET") == "VALID") std::fill(pads.begin(), pads.end(), 0);
  window.before.assign(pads.begin(), pads.begin() + static_cast<std::ptrdiff_t>(rank));
  window.after.assign(pads.begin() + static_cast<std::ptrdiff_t>(rank), pads.end());
  const std::string automatic = text_attribute(node, "auto_pad", "NOTSET");
  if (automatic != "NOTSET" && automatic != "VALID" && automatic != "SAME_UPPER" && automatic != "SAME_LOWER") {
    translation.graph().fail(node, fmt::format("{} is not a padding", quote(automatic)));
  }
  for (std::size_t d = 0; d < rank && automatic.starts_with("SAME"); ++d) {
    const std::int64_t places = (extents[d] + window.stride[d] - 1) / window.stride[d];
    const std::int64_t reach = (kernel[d] - 1) * window.dilation[d] + 1;
    const std::int64_t total = std::max<std::int64_t>(0, (places - 1) * window.stride[d] + reach - extents[d]);
    window.before[d] = total / 2;
    window.after[d] = total - total / 2;
  }
  for (std::size_t d = 0; d < rank && !waiting.empty(); ++d) {
    window.before[d] += waiting[d];
    window.after[d] += waiting[rank + d];
  }
  window.ceil = integer_attribute(node, "ceil_mode", 0) != 0;
  return window;
}

/// The padding in the model file: a size, or `same` if there is one more at the end, as `same` is defined.
std::string padding_of(const Translation& translation, const onnx::NodeProto& node, const Window& window,
                       const Sizes& extents) {
  if (window.before == window.after) return extents_text(window.before);
  for (std::size_t d = 0; d < extents.size(); ++d) {
    const std::int64_t places = (extents[d] + window.stride[d] - 1) / window.stride[d];
    const std::int64_t reach = (window.kernel[d] - 1) * window.dilation[d] + 1;
    const std::int64_t total = std::max<std::int64_t>(0, (places - 1) * window.stride[d] + reach - extents[d]);
    if (window.before[d] + window.after[d] != total || std::abs(window.after[d] - window.before[d]) > 1) {
      translation.graph().fail(node, "its padding is not the same on both sides",
                               "model files support symmetric padding, and 'same'");
    }
  }
  return "same";
}

/// Sizes after the window, from the ONNX library.
Sizes slid_sizes(const Translation& translation, const onnx::NodeProto& node, const Window& window, const Sizes& input,
                 const std::optional<Sizes>& weight) {
  onnx::NodeProto padded = node;
  padded.clear_attribute();
  for (const onnx::AttributeProto& attribute : node.attribute()) {
    if (attribute.name() != "pads" && attribute.name() != "auto_pad") *padded.add_attribute() = attribute;
  }
  onnx::AttributeProto& pads = *padded.add_attribute();
  pads.set_name("pads");
  pads.set_type(onnx::AttributeProto::INTS);
  for (const std::int64_t pad : window.before) pads.add_ints(pad);
  for (const std::int64_t pad : window.after) pads.add_ints(pad);
  std::vector<KnownInput> inputs(static_cast<std::size_t>(node.input_size()));
  inputs[0].shape = input;
  if (weight) inputs[1].shape = *weight;
  auto sizes = inferred_sizes(padded, translation.graph().opset(), inputs);
  if (!sizes || sizes->size() != input.size() || !is_countable(*sizes)) {
    translation.graph().fail(node, "its window does not fit its input");
  }
  for (std::size_t d = 0; d < window.kernel.size(); ++d) {
    // A last window that would start after the input and only contain padding is dropped, as in frameworks.
    std::int64_t& places = (*sizes)[d + 2];
    if (window.ceil && (places - 1) * window.stride[d] >= input[d + 2] + window.before[d]) --places;
  }
  return *sizes;
}

/// The output of a layer with these sizes, batch and channels first.
View slid_view(const View& input, int tensor, const TensorShape& shape) {
  View view{.tensor = tensor, .dimensions = {input.dimensions[0], whole(channels, shape.channels)}};
  for (int d = 0; d < shape.rank; ++d) {
    view.dimensions.push_back(whole(first_position + d, shape.extent[static_cast<std::size_t>(d)]));
  }
  return view;
}

TensorShape slid_shape(const TensorShape& input, const Sizes& sizes, std::int64_t filters) {
  TensorShape shape{.channels = filters, .rank = input.rank, .sequence = input.sequence};
  std::copy(sizes.begin() + 2, sizes.end(), shape.extent.begin());
  return shape;
}

/// The node's first input as an image, with pending padding in `waiting`.
View padded_image(Translation& translation, const onnx::NodeProto& node, Sizes& waiting) {
  Value value = translation.input(node, 0);
  waiting = std::move(value.pads);
  value.pads.clear();
  return translation.as_image(node, translation.plain(node, value));
}

const Value& weight_of(const Translation& translation, const onnx::NodeProto& node, std::size_t rank) {
  const Value& weight = translation.input(node, 1);
  if (weight.kind != Value::Kind::stored || !weight.shape) {
    translation.graph().fail(node, "its weights are computed by the graph",
                             "weights must be stored, or be inputs of the graph");
  }
  const Sizes& shape = *weight.shape;
  if (shape.size() != rank || std::any_of(shape.begin(), shape.end(), [](std::int64_t size) { return size < 1; })) {
    translation.graph().fail(
        node, fmt::format("its weights are {}, which do not fit an input of {} dimensions", fmt::join(shape, " x "), rank));
  }
  return weight;
}

std::int64_t groups_of(const Translation& translation, const onnx::NodeProto& node, std::int64_t split,
                       std::int64_t filters) {
  const std::int64_t groups = integer_attribute(node, "group", 1);
  if (groups < 1 || split % groups != 0 || filters % groups != 0) {
    translation.graph().fail(node, fmt::format("{} and {} channels do not divide into {} groups", split, filters, groups));
  }
  return groups;
}

void describe(const Translation& translation, const onnx::NodeProto& node, NetworkLayer& layer, const Window& window,
              const Sizes& extents, std::int64_t default_stride) {
  const auto is = [](const Sizes& sizes, std::int64_t value) {
    return std::all_of(sizes.begin(), sizes.end(), [value](std::int64_t size) { return size == value; });
  };
  layer.set("kernel", extents_text(window.kernel));
  if (default_stride == 0 || !is(window.stride, default_stride)) layer.set("stride", extents_text(window.stride));
  if (!is(window.before, 0) || !is(window.after, 0)) layer.set("padding", padding_of(translation, node, window, extents));
  if (!is(window.dilation, 1)) layer.set("dilation", extents_text(window.dilation));
}

void check_kernel(const Translation& translation, const onnx::NodeProto& node, const Sizes& kernel) {
  if (find_attribute(node, "kernel_shape") == nullptr) return;
  if (integers_attribute(node, "kernel_shape") != kernel) {
    translation.graph().fail(node, "kernel_shape is not the shape of its weights");
  }
}

/// The output of a convolution, transposed or not.
struct Made {
  std::int64_t groups = 1, filters = 1;
  Sizes sizes;  ///< of samples, channels and extents
};

/// Adds a layer with filters, with the attributes that both kinds of convolution share.
void add_filters(Translation& translation, const onnx::NodeProto& node, NetworkLayer layer, const View& image,
                 const Value& weight, const Made& made, std::string_view stem) {
  if (made.groups > 1) layer.set("groups", fmt::to_string(made.groups));
  if (translation.find_input(node, 2) == nullptr) layer.set("bias", "no");
  layer.shape = slid_shape(translation.network().shape(image.tensor), made.sizes, made.filters);
  layer.weight = weight.source;
  layer.has_whole_weight = weight.is_whole();
  const TensorShape output = layer.shape;
  translation.set_view(node, slid_view(image, translation.add_layer(node, std::move(layer), stem), output));
}

}  // namespace

void translate_convolution(Translation& translation, const onnx::NodeProto& node) {
  Sizes waiting;
  const View image = padded_image(translation, node, waiting);
  const Sizes sizes = sizes_of(image);
  const Value& weight = weight_of(translation, node, sizes.size());
  assert(weight.shape);
  const Sizes& shape = *weight.shape;
  const Sizes extents(sizes.begin() + 2, sizes.end());
  const Sizes kernel(shape.begin() + 2, shape.end());
  check_kernel(translation, node, kernel);
  const std::int64_t groups = groups_of(translation, node, sizes[1], shape[0]);
  if (shape[1] != sizes[1] / groups) {
    translation.graph().fail(node,
                             fmt::format("its weights are for {} channels, but it reads {}", shape[1] * groups, sizes[1]));
  }
  const Window window = window_of(translation, node, kernel, extents, waiting);
  const Sizes after = slid_sizes(translation, node, window, sizes, shape);

  NetworkLayer layer{
      .operation = "convolution", .attributes = {{"filters", fmt::to_string(shape[0])}}, .inputs = {image.tensor}};
  describe(translation, node, layer, window, extents, 1);
  add_filters(translation, node, std::move(layer), image, weight, {groups, shape[0], after}, "conv");
}

void translate_transposed_convolution(Translation& translation, const onnx::NodeProto& node) {
  Sizes waiting;
  const View image = padded_image(translation, node, waiting);
  const Sizes sizes = sizes_of(image);
  const Value& weight = weight_of(translation, node, sizes.size());
  assert(weight.shape);
  const Sizes& shape = *weight.shape;
  const std::size_t rank = sizes.size() - 2;
  const Sizes extents(sizes.begin() + 2, sizes.end());
  const Sizes kernel(shape.begin() + 2, shape.end());
  check_kernel(translation, node, kernel);
  if (shape[0] != sizes[1]) {
    translation.graph().fail(node, fmt::format("its weights are for {} channels, but it reads {}", shape[0], sizes[1]));
  }
  const std::int64_t groups = integer_attribute(node, "group", 1);
  if (groups < 1 || sizes[1] % groups != 0 || shape[1] > (std::int64_t{1} << 31U) / groups) {
    translation.graph().fail(node, fmt::format("{} channels do not divide into {} groups", sizes[1], groups));
  }
  const std::string automatic = text_attribute(node, "auto_pad", "NOTSET");
  if (find_attribute(node, "output_shape") != nullptr || (automatic != "NOTSET" && automatic != "VALID") ||
      !waiting.empty()) {
    translation.graph().fail(node, "its output size is given instead of its padding", "export it with explicit padding");
  }
  const Window window = window_of(translation, node, kernel, extents, waiting);
  if (window.before != window.after) {
    translation.graph().fail(node, "its padding is not the same on both sides");
  }
  const Sizes extra = attribute_of(translation, node, "output_padding", rank, 0, 0);
  const Sizes after = slid_sizes(translation, node, window, sizes, shape);
  const std::int64_t filters = shape[1] * groups;

  NetworkLayer layer{
      .operation = "transposed_convolution", .attributes = {{"filters", fmt::to_string(filters)}}, .inputs = {image.tensor}};
  describe(translation, node, layer, window, extents, 1);
  if (std::any_of(extra.begin(), extra.end(), [](std::int64_t size) { return size > 0; })) {
    layer.set("output_padding", extents_text(extra));
  }
  add_filters(translation, node, std::move(layer), image, weight, {groups, filters, after}, "deconv");
}

void translate_pool(Translation& translation, const onnx::NodeProto& node) {
  Sizes waiting;
  const View image = padded_image(translation, node, waiting);
  const Sizes sizes = sizes_of(image);
  const Sizes extents(sizes.begin() + 2, sizes.end());
  const Sizes kernel = attribute_of(translation, node, "kernel_shape", sizes.size() - 2, 1, 1);
  Window window = window_of(translation, node, kernel, extents, waiting);
  if (std::any_of(window.dilation.begin(), window.dilation.end(), [](std::int64_t size) { return size != 1; })) {
    translation.not_understood(node, "dilated pooling is not supported");
    return;
  }
  for (std::size_t d = 0; d < kernel.size(); ++d) {
    if (2 * std::max(window.before[d], window.after[d]) > kernel[d]) {
      translation.graph().fail(node, "its padding is more than half of its kernel");
    }
  }
  const Sizes after = slid_sizes(translation, node, window, sizes, std::nullopt);
  NetworkLayer layer{.operation = "pool", .inputs = {image.tensor}};
  layer.set("kind", node.op_type() == "MaxPool" ? "max" : "average");
  describe(translation, node, layer, window, extents, 0);
  if (window.ceil) layer.set("ceil", "yes");
  layer.shape = slid_shape(translation.network().shape(image.tensor), after, sizes[1]);
  const TensorShape output = layer.shape;
  translation.set_view(node, slid_view(image, translation.add_layer(node, std::move(layer), "pool"), output));
}

void translate_global_pool(Translation& translation, const onnx::NodeProto& node) {
  const View image = translation.as_image(node, translation.plain_input(node, 0));
  TensorShape shape = translation.network().shape(image.tensor);
  shape.extent = {1, 1, 1};
  NetworkLayer layer{.operation = "pool",
                     .attributes = {{"kind", node.op_type() == "GlobalMaxPool" ? "max" : "average"}, {"global", "yes"}},
                     .inputs = {image.tensor},
                     .shape = shape};
  translation.set_view(node, slid_view(image, translation.add_layer(node, std::move(layer), "pool"), shape));
}

/// A mean over all positions is a pooling; one over channels is part of a norm, which continues_norm has handled before.
void translate_mean(Translation& translation, const onnx::NodeProto& node) {
  const View view = translation.gathered(node, translation.plain_input(node, 0));
  const TensorShape shape = translation.network().shape(view.tensor);
  const auto axes = integers_of(translation, node, translation.graph().opset() >= 18 ? 1 : -1, "axes");
  std::vector<bool> taken(view.dimensions.size(), !axes);
  for (const std::int64_t axis : axes.value_or(Sizes())) taken[dimension_of(translation, node, axis, taken.size())] = true;
  bool pools = shape.rank > 0;
  for (std::size_t d = 0; d < taken.size(); ++d) {
    for (const Atom& atom : view.dimensions[d]) pools = pools && taken[d] == (atom.axis >= first_position);
  }
  if (!pools) {
    translation.not_understood(
        node, "a mean over other dimensions than all positions or, in a norm, the channels is not supported");
    return;
  }
  TensorShape output = shape;
  output.extent = {1, 1, 1};
  NetworkLayer layer{
      .operation = "pool", .attributes = {{"kind", "average"}, {"global", "yes"}}, .inputs = {view.tensor}, .shape = output};
  View result = view;
  result.tensor = translation.add_layer(node, std::move(layer), "pool");
  result.dimensions.clear();
  const bool keeps = integer_attribute(node, "keepdims", 1) != 0;
  for (std::size_t d = 0; d < taken.size(); ++d) {
    if (!taken[d]) result.dimensions.push_back(view.dimensions[d]);
    if (taken[d] && keeps) result.dimensions.emplace_back();
  }
  translation.set_view(node, std::move(result));
}

/// Padding of positions is deferred to the convolution or pooling that reads it.
void translate_pad(Translation& translation, const onnx::NodeProto& node) {
  const View image = translation.as_image(node, translation.plain_input(node, 0));
  const std::size_t rank = image.dimensions.size();
  const auto pads = integers_of(translation, node, 1, "");
  if (!pads || pads->size() != 2 * rank) translation.graph().fail(node, "its pads must be two per dimension");
  Sizes positions;
  for (std::size_t i = 0; i < pads->size(); ++i) {
    const std::int64_t pad = (*pads)[i];
    if (pad < 0 || pad > (std::int64_t{1} << 31U) || (i % rank < 2 && pad != 0)) {
      translation.not_understood(node, "padding of other dimensions than positions is not supported");
      return;
    }
    if (i % rank >= 2) positions.push_back(pad);
  }
  Value value{.kind = Value::Kind::network, .view = image};
  if (std::any_of(positions.begin(), positions.end(), [](std::int64_t pad) { return pad > 0; }))
    value.pads = std::move(positions);
  translation.set_output(node, std::move(value));
}

/// More or fewer positions, by sizes or by factors.
void translate_resize(Translation& translation, const onnx::NodeProto& node) {
  const View image = translation.as_image(node, translation.plain_input(node, 0));
  const Sizes before = sizes_of(image);
  const std::string mode = text_attribute(node, "mode", "nearest");
  const Value* const factors = translation.find_input(node, 2);
  const Value* const wish = translation.find_input(node, 3);
  Sizes after;
  if (wish != nullptr && wish->numbers && wish->numbers->integral) {
    after = wish->numbers->integers;
  } else if (factors != nullptr && factors->numbers && !factors->numbers->integral &&
             factors->numbers->count() == before.size()) {
    for (std::size_t d = 0; d < before.size(); ++d) {
      constexpr double largest = 2147483648.0;
      const double size = std::floor(static_cast<double>(before[d]) * factors->numbers->reals[d]);
      after.push_back(size >= 1 && size <= largest ? static_cast<std::int64_t>(size) : 0);
    }
  }
  const bool known = after.size() == before.size() && is_countable(after) &&
                     std::none_of(after.begin(), after.end(), [](std::int64_t size) { return size < 1; });
  if (!known) translation.graph().fail(node, "the size of its output is unknown or zero");
  if (after[0] != before[0] || after[1] != before[1] || mode == "cubic") {
    translation.not_understood(node,
                               "resizing of other dimensions than positions, or by cubic interpolation, is not supported");
    return;
  }
  TensorShape shape = translation.network().shape(image.tensor);
  std::copy(after.begin() + 2, after.end(), shape.extent.begin());
  NetworkLayer layer{.operation = "resize",
                     .attributes = {{"kind", mode == "nearest" ? "nearest" : "linear"},
                                    {"size", fmt::format("{}", fmt::join(after.begin() + 2, after.end(), "x"))}},
                     .inputs = {image.tensor},
                     .shape = shape};
  translation.set_view(node, slid_view(image, translation.add_layer(node, std::move(layer), "resize"), shape));
}

}  // namespace ddl::onnx_import
