// Translates operators that change the number of positions without a window: padding, resizing, and moves of blocks of
// positions to channels or back.

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "model_zoo/importers/onnx/translation.hpp"

namespace ddl::onnx_import {

Translator translate_pad, translate_resize, translate_space_to_depth, translate_depth_to_space;

namespace {

using Sizes = std::vector<std::int64_t>;

/// Returns the pads of all dimensions: first the pads at the start of each dimension, then the pads at the end. Until opset
/// 10, the pads are an attribute. Since opset 18, an input may name the padded dimensions.
Sizes pads_of(const Translation& translation, const onnx::NodeProto& node, std::size_t rank) {
  const int opset = translation.graph().opset();
  const auto given = integers_of(translation, node, opset >= 11 ? 1 : -1, "pads");
  const auto axes = opset >= 18 ? integers_of(translation, node, 3, "") : std::nullopt;
  const std::size_t count = axes ? axes->size() : rank;
  if (!given || given->size() != 2 * count) translation.graph().fail(node, "there must be two pads per dimension");
  if (!axes) return *given;
  Sizes pads(2 * rank, 0);
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t d = dimension_of(translation, node, (*axes)[i], rank);
    pads[d] = (*given)[i];
    pads[rank + d] = (*given)[count + i];
  }
  return pads;
}

/// Returns the sizes after a `Resize` or `Upsample`. The node gives sizes or factors. Empty if
/// neither sizes nor factors are known.
Sizes resized(const Translation& translation, const onnx::NodeProto& node, const Sizes& before) {
  const int opset = translation.graph().opset();
  const bool old = node.op_type() == "Upsample" || opset < 11;
  const Value* const factors = translation.find_input(node, old ? 1 : 2);
  const Value* const wish = old ? nullptr : translation.find_input(node, 3);
  std::vector<std::size_t> dimensions;
  if (find_attribute(node, "axes") != nullptr) {
    for (const std::int64_t axis : integers_attribute(node, "axes"))
      dimensions.push_back(dimension_of(translation, node, axis, before.size()));
  } else {
    for (std::size_t d = 0; d < before.size(); ++d) dimensions.push_back(d);
  }
  Sizes after = before;
  if (wish != nullptr && wish->numbers && wish->numbers->integral && wish->numbers->count() == dimensions.size()) {
    for (std::size_t i = 0; i < dimensions.size(); ++i) after[dimensions[i]] = wish->numbers->integers[i];
    return after;
  }
  std::vector<double> scales;
  if (factors != nullptr && factors->numbers && !factors->numbers->integral) scales = factors->numbers->reals;
  if (const auto* const attribute = find_attribute(node, "scales"); old && factors == nullptr && attribute != nullptr)
    scales.assign(attribute->floats().begin(), attribute->floats().end());
  if (scales.size() != dimensions.size()) return {};
  for (std::size_t i = 0; i < dimensions.size(); ++i) {
    constexpr double largest = 2147483648.0;
    const double size = std::floor(static_cast<double>(before[dimensions[i]]) * scales[i]);
    after[dimensions[i]] = size >= 1 && size <= largest ? static_cast<std::int64_t>(size) : 0;
  }
  return after;
}

/// Makes one dimension longer by a copy into a larger tensor, as in a resize.
void pad_one(Translation& translation, const onnx::NodeProto& node, View view, std::size_t d, std::int64_t added) {
  std::vector<int> axes(view.dimensions.size(), channels);
  axes[d] = first_position;
  view = translation.relaid(view, axes, false);
  TensorShape shape = translation.network().shape(view.tensor);
  shape.extent[0] += added;
  NetworkLayer layer{.operation = "resize",
                     .attributes = {{"kind", "nearest"}, {"size", fmt::to_string(shape.extent[0])}},
                     .inputs = {view.tensor},
                     .shape = shape};
  view.tensor = translation.add_layer(node, std::move(layer), "pad");
  view.dimensions[d] = whole(first_position, shape.extent[0]);
  translation.set_view(node, std::move(view));
}

std::int64_t block_of(const Translation& translation, const onnx::NodeProto& node) {
  constexpr std::int64_t largest = 1 << 15;
  const std::int64_t block = integer_attribute(node, "blocksize", 0);
  if (block < 1 || block > largest) translation.graph().fail(node, fmt::format("the block size cannot be {}", block));
  return block;
}

}  // namespace

/// Translates padding. Padding of positions is merged into the convolution or pooling that reads
/// it. Padding of another dimension becomes a layer.
void translate_pad(Translation& translation, const onnx::NodeProto& node) {
  View whole_view = translation.gathered(node, translation.plain_input(node, 0));
  const std::size_t rank = whole_view.dimensions.size();
  const Sizes pads = pads_of(translation, node, rank);
  Sizes positions;
  std::vector<std::size_t> padded;
  for (std::size_t i = 0; i < pads.size(); ++i) {
    const std::int64_t pad = pads[i];
    if (pad < 0 || pad > (std::int64_t{1} << 31U)) {
      translation.not_understood(node, fmt::format("padding by {} is not supported", pad));
      return;
    }
    if (pad > 0 && i % rank < 2) padded.push_back(i % rank);
    if (i % rank >= 2) positions.push_back(pad);
  }
  if (!padded.empty()) {
    const std::size_t d = padded.front();
    const bool one = std::all_of(padded.begin(), padded.end(), [d](std::size_t each) { return each == d; }) &&
                     std::all_of(positions.begin(), positions.end(), [](std::int64_t pad) { return pad == 0; });
    if (!one || has_axis(whole_view.dimensions[d], batch)) {
      translation.not_understood(node, "padding of several dimensions, of which some are not positions, is not supported");
      return;
    }
    pad_one(translation, node, std::move(whole_view), d, pads[d] + pads[rank + d]);
    return;
  }
  const View image = translation.as_image(node, whole_view);
  Value value{.kind = Value::Kind::network, .view = image};
  if (std::any_of(positions.begin(), positions.end(), [](std::int64_t pad) { return pad > 0; }))
    value.pads = std::move(positions);
  translation.set_output(node, std::move(value));
}

/// Translates a change of the number of positions, which the node gives as sizes or as factors.
void translate_resize(Translation& translation, const onnx::NodeProto& node) {
  const View image = translation.as_image(node, translation.plain_input(node, 0));
  const Sizes before = sizes_of(image);
  const std::string mode = text_attribute(node, "mode", "nearest");
  const Sizes after = resized(translation, node, before);
  const bool known = after.size() == before.size() && is_countable(after) &&
                     std::none_of(after.begin(), after.end(), [](std::int64_t size) { return size < 1; });
  if (!known) translation.graph().fail(node, "the size of the output is unknown or zero");
  if (after[0] != before[0] || after[1] != before[1] || before.size() < 3) {
    translation.not_understood(node, "resizing of other dimensions than positions is not supported");
    return;
  }
  if (after == before) {
    translation.set_view(node, image);
    return;
  }
  if (mode == "cubic") translation.assume(node, "cubic interpolation, which counts as linear");
  TensorShape shape = translation.network().shape(image.tensor);
  std::copy(after.begin() + 2, after.end(), shape.extent.begin());
  NetworkLayer layer{.operation = "resize",
                     .attributes = {{"kind", mode == "nearest" ? "nearest" : "linear"},
                                    {"size", fmt::format("{}", fmt::join(after.begin() + 2, after.end(), "x"))}},
                     .inputs = {image.tensor},
                     .shape = shape};
  const int tensor = translation.add_layer(node, std::move(layer), "resize");
  translation.set_view(node, image_view(tensor, image.dimensions[0], shape));
}

void translate_space_to_depth(Translation& translation, const onnx::NodeProto& node) {
  const View image = translation.as_image(node, translation.plain_input(node, 0));
  const std::int64_t block = block_of(translation, node);
  TensorShape shape = translation.network().shape(image.tensor);
  if (shape.rank != 2 || shape.extent[0] % block != 0 || shape.extent[1] % block != 0) {
    translation.graph().fail(node, fmt::format("the input does not divide into blocks of {}", block));
  }
  shape.channels *= block * block;
  shape.extent = {shape.extent[0] / block, shape.extent[1] / block, 1};
  NetworkLayer layer{.operation = "space_to_depth",
                     .attributes = {{"block", fmt::to_string(block)}},
                     .inputs = {image.tensor},
                     .shape = shape};
  const int tensor = translation.add_layer(node, std::move(layer), "blocks");
  translation.set_view(node, image_view(tensor, image.dimensions[0], shape));
}

/// Rearranges channels of blocks as positions. The elements are the same.
void translate_depth_to_space(Translation& translation, const onnx::NodeProto& node) {
  const View image = translation.as_image(node, translation.plain_input(node, 0));
  const std::int64_t block = block_of(translation, node);
  const Sizes before = sizes_of(image);
  if (before.size() != 4 || before[1] % (block * block) != 0) {
    translation.graph().fail(node, fmt::format("the channels do not divide into blocks of {}", block));
  }
  translation.set_view(
      node, translation.fresh(node, image, {before[0], before[1] / (block * block), before[2] * block, before[3] * block}));
}

}  // namespace ddl::onnx_import
