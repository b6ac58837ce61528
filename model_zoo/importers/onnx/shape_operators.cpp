// Translates operators that move, cut or rename elements and compute nothing. Most of these operators
// only change the view of a tensor.

#include <algorithm>
#include <cstdlib>

#include <fmt/format.h>

#include "model_zoo/importers/onnx/elementwise.hpp"
#include "model_zoo/importers/onnx/slices.hpp"
#include "model_zoo/importers/onnx/translation.hpp"

namespace ddl::onnx_import {

Translator translate_reshape, translate_flatten, translate_squeeze, translate_transpose, translate_slice, translate_split,
    translate_gather, translate_expand, translate_shape, translate_identity, translate_quantized, translate_dropout;

namespace {

/// Returns the first input of an operator that only changes the view. Elementwise functions that
/// are not yet applied are kept.
Value movable_input(Translation& translation, const onnx::NodeProto& node, bool scores_too = false) {
  Value value = translation.input(node, 0);
  const bool norm_done =
      !value.moment || value.moment->part == Moment::Part::normalized || value.moment->part == Moment::Part::scaled;
  if (value.is_network() && value.pads.empty() && (!value.scores || scores_too) && norm_done) return value;
  return {.kind = Value::Kind::network, .view = translation.plain(node, value)};
}

/// Returns the first input of an operator that outputs a part of this input. If a function that is
/// not linear is not yet applied, it is first applied to all elements of the input.
Value whole_input(Translation& translation, const onnx::NodeProto& node) {
  Value value = movable_input(translation, node);
  if (!value.moment && is_linear(value.function)) return value;
  return {.kind = Value::Kind::network, .view = translation.plain(node, value)};
}

void set_sizes(Translation& translation, const onnx::NodeProto& node, Value value, const std::vector<std::int64_t>& sizes) {
  if (auto view = reshaped(value.view, sizes)) {
    value.view = std::move(*view);
    if (value.is_plain()) value.view = translation.shuffled(node, value.view);
    translation.set_output(node, std::move(value));
    return;
  }
  // If the new sizes split channels or positions unevenly, no view is possible, and the elements are copied to a new tensor.
  const View view = translation.gathered(node, translation.plain(node, value));
  translation.set_view(node, translation.fresh(node, view, sizes));
}

/// Returns a view of `count` elements of a dimension from `start`, `step` apart. The cost depends only on the number of
/// elements.
View part_of(Translation& translation, const onnx::NodeProto& node, const View& view, std::size_t axis, std::int64_t start,
             std::int64_t count, std::int64_t step = 1) {
  if (auto cut = sliced(view, axis, start, count, step)) return std::move(*cut);
  if (has_axis(view.dimensions[axis], batch)) {
    translation.unsupported(node, "only some samples of the batch are read, which no layer supports",
                            "export the network with batch size 1");
  }
  const View whole = translation.gathered(node, view);
  auto cut = sliced(translation.fresh(node, whole, sizes_of(whole)), axis, start, count, step);
  if (!cut) translation.unsupported(node, fmt::format("no layer supports this part of dimension {}", axis), "");
  return std::move(*cut);
}

/// Returns the view of one position along a dimension, without this dimension.
View at_place(Translation& translation, const onnx::NodeProto& node, const View& view, std::size_t axis,
              std::int64_t place) {
  View cut = part_of(translation, node, view, axis, place, 1);
  cut.dimensions.erase(cut.dimensions.begin() + static_cast<std::ptrdiff_t>(axis));
  return cut;
}

void look_up(Translation& translation, const onnx::NodeProto& node, const Value& table, const Value& tokens) {
  if (table.kind != Value::Kind::stored || !table.shape || table.shape->size() != 2 ||
      integer_attribute(node, "axis", 0) != 0 || table.shape->at(0) < 1 || table.shape->at(1) < 1) {
    translation.graph().fail(node, "tokens are looked up in a tensor that is not a stored table");
  }
  // If the whole network reads only a part of the tokens, this part is its input.
  Network& network = translation.network();
  const std::int64_t count = size_of(atoms_of(tokens.view, first_position));
  if (network.layers.empty()) network.input.extent[0] = count;
  if (network.input.extent[0] != count) {
    translation.graph().fail(node, fmt::format("{} tokens are looked up, but the input of the network has {} tokens", count,
                                               network.input.extent[0]));
  }
  TensorShape shape = network.shape(tokens.view.tensor);
  shape.channels = table.shape->at(1);
  NetworkLayer layer{
      .operation = "embedding",
      .attributes = {{"vocabulary", fmt::to_string(table.shape->at(0))}, {"features", fmt::to_string(shape.channels)}},
      .inputs = {tokens.view.tensor},
      .shape = shape};
  layer.weight = table.source;
  View view = tokens.view;
  view.dimensions.push_back(whole(channels, shape.channels));
  view.tensor = translation.add_layer(node, std::move(layer), "embedding");
  translation.set_view(node, std::move(view));
}

}  // namespace

void translate_reshape(Translation& translation, const onnx::NodeProto& node) {
  const Value value = movable_input(translation, node, true);
  const auto wish = integers_of(translation, node, 1, "");
  if (!wish) translation.graph().fail(node, "the new shape is missing");
  const std::vector<std::int64_t> before = sizes_of(value.view);
  const auto sizes = reshaped_sizes(node, before, *wish);
  if (!sizes) {
    translation.graph().fail(node, fmt::format("{} cannot become {}", fmt::join(before, " x "), fmt::join(*wish, " x ")));
  }
  set_sizes(translation, node, value, *sizes);
}

void translate_flatten(Translation& translation, const onnx::NodeProto& node) {
  const Value value = movable_input(translation, node);
  const std::vector<std::int64_t> before = sizes_of(value.view);
  const auto rank = static_cast<std::int64_t>(before.size());
  std::int64_t axis = integer_attribute(node, "axis", 1);
  if (axis < 0) axis += rank;
  if (axis < 0 || axis > rank) translation.graph().fail(node, fmt::format("there is no dimension {} among {}", axis, rank));
  std::vector<std::int64_t> sizes{1, 1};
  for (std::int64_t d = 0; d < rank; ++d) sizes[d < axis ? 0 : 1] *= before[static_cast<std::size_t>(d)];
  set_sizes(translation, node, value, sizes);
}

void translate_squeeze(Translation& translation, const onnx::NodeProto& node) {
  const Value value = movable_input(translation, node, true);
  set_sizes(translation, node, value, squeezed_sizes(translation, node, sizes_of(value.view)));
}

void translate_transpose(Translation& translation, const onnx::NodeProto& node) {
  Value value = movable_input(translation, node);
  value.view = transposed(value.view, order_of(translation, node, value.view.dimensions.size()));
  translation.set_output(node, std::move(value));
}

void translate_slice(Translation& translation, const onnx::NodeProto& node) {
  Value value = whole_input(translation, node);
  const auto ranges = ranges_of(translation, node, sizes_of(value.view));
  if (!ranges) {
    translation.not_understood(node, "the bounds depend on the content of tensors");
    return;
  }
  for (std::size_t d = 0; d < ranges->size(); ++d) {
    const Range& range = (*ranges)[d];
    const std::int64_t size = size_of(value.view.dimensions[d]);
    if (range.count == size) continue;  // the whole dimension, possibly in reverse order
    if (range.count < 1) translation.graph().fail(node, fmt::format("nothing is left of dimension {}", d));
    const std::int64_t first = range.step > 0 ? range.start : range.start + (range.count - 1) * range.step;
    value.view = part_of(translation, node, value.view, d, first, range.count, std::abs(range.step));
  }
  translation.set_output(node, std::move(value));
}

void translate_split(Translation& translation, const onnx::NodeProto& node) {
  const Value value = whole_input(translation, node);
  const std::size_t axis = dimension_of(translation, node, integer_attribute(node, "axis", 0), value.view.dimensions.size());
  const std::int64_t size = size_of(value.view.dimensions[axis]);
  const auto count = static_cast<std::int64_t>(node.output_size());
  auto parts = integers_of(translation, node, translation.graph().opset() >= 13 ? 1 : -1, "split");
  if (!parts) {
    // The parts are equal. Since opset 18, the last part may be smaller.
    const std::int64_t part = (size + count - 1) / count;
    parts = std::vector<std::int64_t>(static_cast<std::size_t>(count), part);
    if (translation.graph().opset() >= 18) parts->back() = size - part * (count - 1);
  }
  std::int64_t total = 0;
  const bool positive = std::all_of(parts->begin(), parts->end(), [&](std::int64_t part) {
    total += part >= 1 && part <= size ? part : 0;
    return part >= 1 && part <= size;
  });
  if (!positive || static_cast<std::int64_t>(parts->size()) != count || total != size) {
    translation.graph().fail(node, fmt::format("{} elements do not divide into {} outputs", size, count));
  }
  std::int64_t start = 0;
  for (int i = 0; i < node.output_size(); ++i) {
    const std::int64_t part = (*parts)[static_cast<std::size_t>(i)];
    Value output = value;
    output.view = part_of(translation, node, value.view, axis, start, part);
    start += part;
    translation.set_output(node, std::move(output), i);
  }
}

void translate_gather(Translation& translation, const onnx::NodeProto& node) {
  const Value indices = translation.input(node, 1);
  if (indices.tokens) {
    const Value table = translation.input(node, 0);
    look_up(translation, node, table, indices);
    return;
  }
  Value value = whole_input(translation, node);
  const bool known = indices.kind == Value::Kind::stored && indices.shape && is_countable(*indices.shape);
  if (!known || (indices.numbers && !indices.numbers->integral)) {
    translation.not_understood(node, "a selection of elements by indices that depend on the data is not supported");
    return;
  }
  const std::size_t axis = dimension_of(translation, node, integer_attribute(node, "axis", 0), value.view.dimensions.size());
  const std::int64_t size = size_of(value.view.dimensions[axis]);
  std::int64_t count = 1, first = size;
  for (const std::int64_t each : *indices.shape) count *= each;
  if (count < 1) translation.graph().fail(node, "nothing is selected");
  for (const std::int64_t place : indices.numbers ? indices.numbers->integers : std::vector<std::int64_t>{0}) {
    if (place < -size || place >= size) {
      translation.graph().fail(node, fmt::format("the index {} is outside of {} elements", place, size));
    }
    first = std::min(first, place < 0 ? place + size : place);
  }
  const auto at = static_cast<std::ptrdiff_t>(axis);
  if (count == 1) {
    value.view = at_place(translation, node, value.view, axis, first);
    value.view.dimensions.insert(value.view.dimensions.begin() + at, indices.shape->size(), Dimension());
    translation.set_output(node, std::move(value));
    return;
  }
  if (count > size) {
    translation.not_understood(node, "elements are repeated, which no layer supports");
    return;
  }
  if (count < size) value.view = part_of(translation, node, value.view, axis, std::min(first, size - count), count);
  std::vector<std::int64_t> sizes = sizes_of(value.view);
  sizes.erase(sizes.begin() + at);
  sizes.insert(sizes.begin() + at, indices.shape->begin(), indices.shape->end());
  set_sizes(translation, node, std::move(value), sizes);
}

void translate_expand(Translation& translation, const onnx::NodeProto& node) {
  Value value = movable_input(translation, node);
  auto wish = integers_of(translation, node, 1, "");
  const std::vector<std::int64_t> before = sizes_of(value.view);
  if (node.op_type() == "Tile" && wish) {
    for (std::size_t d = 0; d < before.size() && wish->size() == before.size(); ++d) {
      if ((*wish)[d] == 1) (*wish)[d] = before[d];
    }
  }
  const auto sizes = wish ? broadcast(before, *wish) : std::nullopt;
  if (!sizes || sizes->size() < before.size()) {
    translation.not_understood(node, "only dimensions of one element can be repeated");
    return;
  }
  value.view.dimensions.insert(value.view.dimensions.begin(), sizes->size() - before.size(), Dimension());
  for (std::size_t d = 0; d < sizes->size(); ++d) {
    Dimension& dimension = value.view.dimensions[d];
    if (dimension.empty() && (*sizes)[d] > 1) dimension.push_back({.axis = repeated, .size = (*sizes)[d], .stride = 0});
  }
  translation.set_output(node, std::move(value));
}

void translate_shape(Translation& translation, const onnx::NodeProto& node) {
  const std::vector<std::int64_t> sizes = sizes_of(translation.input(node, 0).view);
  if (node.op_type() == "Size") {
    Numbers count{.shape = {}, .integers = {1}};
    for (const std::int64_t size : sizes) count.integers.front() *= size;
    Value value{.kind = Value::Kind::stored, .shape = count.shape, .integral = true};
    value.numbers = std::make_shared<const Numbers>(std::move(count));
    translation.set_output(node, std::move(value));
    return;
  }
  Numbers numbers = shape_numbers(node, sizes);
  Value value{.kind = Value::Kind::stored, .shape = numbers.shape, .integral = true};
  value.numbers = std::make_shared<const Numbers>(std::move(numbers));
  translation.set_output(node, std::move(value));
}

void translate_identity(Translation& translation, const onnx::NodeProto& node) {
  const Value value = translation.input(node, 0);
  translation.set_output(node, value);
}

void translate_quantized(Translation& translation, const onnx::NodeProto& node) {
  translation.assume(node, "the network is quantized, but its layers are counted in the precision of the training");
  translate_identity(translation, node);
}

void translate_dropout(Translation& translation, const onnx::NodeProto& node) {
  const Value value = translation.input(node, 0);
  for (int i = 1; i < node.output_size(); ++i) translation.set_output(node, {.kind = Value::Kind::side}, i);
  double rate = real_attribute(node, "ratio", 0.5);
  bool trains = true;
  if (translation.graph().opset() >= 12) {
    const Value* const ratio = translation.find_input(node, 1);
    const Value* const training = translation.find_input(node, 2);
    rate = ratio != nullptr && ratio->numbers ? uniform(*ratio->numbers).value_or(0.5) : 0.5;
    trains = training != nullptr && (!training->numbers || uniform(*training->numbers) != 0.0);
  }
  if (!(rate >= 0 && rate <= 1)) translation.graph().fail(node, fmt::format("the dropout rate is {}", rate));
  if (!trains || rate == 0) {
    translation.set_output(node, value);
    return;
  }
  if (value.scores && value.scores->normalized) {
    Value dropped = value;
    auto scores = std::make_shared<Scores>(*value.scores);
    scores->dropout = rate;
    dropped.scores = std::move(scores);
    translation.set_output(node, std::move(dropped));
    return;
  }
  View view = translation.gathered(node, translation.plain(node, value));
  NetworkLayer layer{.operation = "dropout",
                     .attributes = {{"rate", fmt::format("{:.6g}", rate)}},
                     .inputs = {view.tensor},
                     .shape = translation.network().shape(view.tensor)};
  view.tensor = translation.add_layer(node, std::move(layer), "dropout");
  translation.set_view(node, std::move(view));
}

}  // namespace ddl::onnx_import
