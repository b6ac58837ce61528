// Translates operators with a sliding window: convolutions and pooling.

#include <algorithm>
#include <cassert>
#include <string>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "model_zoo/importers/onnx/translation.hpp"
#include "model_zoo/importers/onnx/window.hpp"

namespace ddl::onnx_import {

Translator translate_convolution, translate_transposed_convolution, translate_pool;

namespace {

using Sizes = std::vector<std::int64_t>;

TensorShape slid_shape(const TensorShape& input, const Sizes& positions, std::int64_t filters) {
  TensorShape shape{.channels = filters, .rank = input.rank, .sequence = input.sequence};
  std::copy(positions.begin(), positions.end(), shape.extent.begin());
  return shape;
}

/// Returns the node's first input as an image. `waiting` receives padding that no window has applied yet.
View padded_image(Translation& translation, const onnx::NodeProto& node, Sizes& waiting) {
  Value value = translation.input(node, 0);
  waiting = std::move(value.pads);
  value.pads.clear();
  View image = translation.as_image(node, translation.plain(node, value));
  if (image.dimensions.size() < 3) translation.graph().fail(node, "the input has no positions to move a window over");
  return image;
}

const Value& weight_of(const Translation& translation, const onnx::NodeProto& node, std::size_t rank) {
  const Value& weight = translation.input(node, 1);
  if (weight.kind != Value::Kind::stored || !weight.shape) {
    translation.graph().fail(node, "the weights are computed from the input of the graph",
                             "weights must be stored, computed from stored tensors, or be inputs of the graph");
  }
  const Sizes& shape = *weight.shape;
  if (shape.size() != rank || std::any_of(shape.begin(), shape.end(), [](std::int64_t size) { return size < 1; })) {
    translation.graph().fail(
        node, fmt::format("the weights are {}, which do not fit an input of {} dimensions", fmt::join(shape, " x "), rank));
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

void check_kernel(const Translation& translation, const onnx::NodeProto& node, const Sizes& kernel) {
  if (find_attribute(node, "kernel_shape") == nullptr) return;
  if (integers_attribute(node, "kernel_shape") != kernel) {
    translation.graph().fail(node, "kernel_shape is not the shape of the weights");
  }
}

/// Adds a window to a layer that reads `image`. As in frameworks, padding that model files do not
/// support becomes a separate layer, unless the window of a pooling covers the whole input.
void add_window(Translation& translation, const onnx::NodeProto& node, NetworkLayer& layer, const View& image,
                const Window& window, const Sizes& positions) {
  const Sizes sizes = sizes_of(image);
  Sizes extents(sizes.begin() + 2, sizes.end());
  layer.inputs = {image.tensor};
  if (describe_window(layer, window, extents, positions)) return;
  bool sees_all = layer.operation == "pool";
  for (std::size_t d = 0; d < extents.size(); ++d)
    sees_all = sees_all && positions[d] == 1 && window.reach(d) - window.before[d] >= extents[d];
  if (sees_all) {
    layer.set("global", "yes");
    return;
  }
  Value padded{.kind = Value::Kind::network, .view = image, .pads = window.before};
  padded.pads.insert(padded.pads.end(), window.after.begin(), window.after.end());
  layer.inputs = {translation.padded(node, padded).tensor};
  Window inner = window;
  for (std::size_t d = 0; d < extents.size(); ++d) {
    extents[d] += window.before[d] + window.after[d];
    inner.before[d] = inner.after[d] = 0;
  }
  static_cast<void>(describe_window(layer, inner, extents, positions));
}

/// The sizes of the output of a convolution, which may be transposed.
struct Made {
  std::int64_t groups = 1, filters = 1;
  Sizes positions;
};

/// Adds a layer with filters, with the attributes that both convolution operators share.
void add_filters(Translation& translation, const onnx::NodeProto& node, NetworkLayer layer, const View& image,
                 const Value& weight, const Made& made, std::string_view stem) {
  if (made.groups > 1) layer.set("groups", fmt::to_string(made.groups));
  if (translation.find_input(node, 2) == nullptr) layer.set("bias", "no");
  layer.shape = slid_shape(translation.network().shape(image.tensor), made.positions, made.filters);
  layer.weight = weight.source;
  layer.has_whole_weight = weight.is_whole();
  const TensorShape output = layer.shape;
  translation.set_view(node, image_view(translation.add_layer(node, std::move(layer), stem), image.dimensions[0], output));
}

/// The window of a transposed convolution, and the number of positions of its output.
struct Expansion {
  Sizes stride{}, dilation{}, padding{}, extra{}, positions{};
};

Expansion expansion_of(const Translation& translation, const onnx::NodeProto& node, const Sizes& kernel,
                       const Sizes& extents) {
  constexpr std::int64_t largest = std::int64_t{1} << 31U;
  const std::size_t rank = kernel.size();
  Expansion made{.stride = sizes_attribute(translation, node, "strides", rank, 1, 1),
                 .dilation = sizes_attribute(translation, node, "dilations", rank, 1, 1),
                 .extra = sizes_attribute(translation, node, "output_padding", rank, 0, 0)};
  const Sizes pads = sizes_attribute(translation, node, "pads", 2 * rank, 0, 0);
  const std::string automatic = text_attribute(node, "auto_pad", "NOTSET");
  const bool has_shape = find_attribute(node, "output_shape") != nullptr;
  const Sizes wanted = sizes_attribute(translation, node, "output_shape", rank, 1, 1);
  for (std::size_t d = 0; d < rank; ++d) {
    const double size = static_cast<double>(made.stride[d]) * static_cast<double>(extents[d]) +
                        static_cast<double>(kernel[d]) * static_cast<double>(made.dilation[d]);
    if (size > static_cast<double>(largest)) translation.graph().fail(node, "the output is too large");
    const std::int64_t whole = (extents[d] - 1) * made.stride[d] + (kernel[d] - 1) * made.dilation[d] + 1;
    std::int64_t count = whole + made.extra[d] - pads[d] - pads[rank + d];
    if (automatic == "VALID") count = whole + made.extra[d];
    if (automatic.starts_with("SAME")) count = extents[d] * made.stride[d];
    if (has_shape) count = wanted[d];
    // Pads both sides by the same number, and adds the remaining padding at the end.
    const std::int64_t cut = std::max<std::int64_t>(0, whole - count);
    made.padding.push_back((cut + 1) / 2);
    made.extra[d] = count - (whole - 2 * made.padding[d]);
    if (count < 1 || count > largest || made.extra[d] >= std::max(made.stride[d], made.dilation[d])) {
      translation.graph().fail(node, "the output size does not fit the window");
    }
    made.positions.push_back(count);
  }
  return made;
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
    translation.graph().fail(
        node, fmt::format("the weights are for {} channels, but the input has {}", shape[1] * groups, sizes[1]));
  }
  const Window window = window_of(translation, node, kernel, extents, waiting);
  const Sizes positions = slid_extents(translation, node, window, extents);

  NetworkLayer layer{.operation = "convolution", .attributes = {{"filters", fmt::to_string(shape[0])}}};
  add_window(translation, node, layer, image, window, positions);
  add_filters(translation, node, std::move(layer), image, weight, {groups, shape[0], positions}, "conv");
}

void translate_transposed_convolution(Translation& translation, const onnx::NodeProto& node) {
  Sizes waiting;
  const View image = padded_image(translation, node, waiting);
  const Sizes sizes = sizes_of(image);
  const Value& weight = weight_of(translation, node, sizes.size());
  assert(weight.shape);
  const Sizes& shape = *weight.shape;
  const Sizes extents(sizes.begin() + 2, sizes.end());
  const Sizes kernel(shape.begin() + 2, shape.end());
  check_kernel(translation, node, kernel);
  if (shape[0] != sizes[1]) {
    translation.graph().fail(node, fmt::format("the weights are for {} channels, but the input has {}", shape[0], sizes[1]));
  }
  const std::int64_t groups = integer_attribute(node, "group", 1);
  if (groups < 1 || sizes[1] % groups != 0 || shape[1] > (std::int64_t{1} << 31U) / groups) {
    translation.graph().fail(node, fmt::format("{} channels do not divide into {} groups", sizes[1], groups));
  }
  if (!waiting.empty()) translation.graph().fail(node, "the input is padded, which is supported before convolutions only");
  const Expansion expansion = expansion_of(translation, node, kernel, extents);
  const std::int64_t filters = shape[1] * groups;

  NetworkLayer layer{
      .operation = "transposed_convolution", .attributes = {{"filters", fmt::to_string(filters)}}, .inputs = {image.tensor}};
  const auto set_unless = [&layer](std::string_view key, const Sizes& each, std::int64_t usual) {
    const auto is_usual = [usual](std::int64_t size) { return size == usual; };
    if (!std::all_of(each.begin(), each.end(), is_usual)) layer.set(key, extents_text(each));
  };
  layer.set("kernel", extents_text(kernel));
  set_unless("stride", expansion.stride, 1);
  set_unless("padding", expansion.padding, 0);
  set_unless("dilation", expansion.dilation, 1);
  set_unless("output_padding", expansion.extra, 0);
  add_filters(translation, node, std::move(layer), image, weight, {groups, filters, expansion.positions}, "deconv");
}

void translate_pool(Translation& translation, const onnx::NodeProto& node) {
  Sizes waiting;
  const View image = padded_image(translation, node, waiting);
  const Sizes sizes = sizes_of(image);
  const Sizes extents(sizes.begin() + 2, sizes.end());
  const Sizes kernel = sizes_attribute(translation, node, "kernel_shape", sizes.size() - 2, 1, 1);
  const Window window = window_of(translation, node, kernel, extents, waiting);
  if (std::any_of(window.dilation.begin(), window.dilation.end(), [](std::int64_t size) { return size != 1; })) {
    translation.not_understood(node, "dilated pooling is not supported");
    return;
  }
  const Sizes positions = slid_extents(translation, node, window, extents);
  NetworkLayer layer{.operation = "pool"};
  layer.set("kind", node.op_type() == "MaxPool" ? "max" : "average");
  add_window(translation, node, layer, image, window, positions);
  layer.shape = slid_shape(translation.network().shape(image.tensor), positions, sizes[1]);
  const TensorShape output = layer.shape;
  translation.set_view(node, image_view(translation.add_layer(node, std::move(layer), "pool"), image.dimensions[0], output));
}

}  // namespace ddl::onnx_import
