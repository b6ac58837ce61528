// A concatenation of channels is translated to a layer. A concatenation of positions is translated to a concatenation of
// flat tensors, which have the same number of elements. A stored token that is concatenated before a sequence is a class
// token.

#include <algorithm>
#include <array>
#include <optional>

#include "model_zoo/importers/onnx/translation.hpp"

namespace ddl::onnx_import {

Translator translate_concat;

namespace {

constexpr std::int64_t largest = std::int64_t{1} << 31U;
constexpr std::int64_t most_class_tokens = 256;

/// Returns the view that these slices of one dimension make up together; empty if the slices are not adjacent. A slice of
/// one element has no atoms.
std::optional<View> joined_slices(const std::vector<View>& parts, std::size_t axis) {
  const auto longer =
      std::find_if(parts.begin(), parts.end(), [axis](const View& part) { return !part.dimensions[axis].empty(); });
  if (longer == parts.end()) return std::nullopt;
  Atom atom = longer->dimensions[axis].front();
  if (longer->dimensions[axis].size() != 1 || atom.axis < channels) return std::nullopt;
  View expected = parts.front();
  const std::array<std::int64_t, 4> start = expected.offset;
  std::int64_t all = 0;
  for (const View& part : parts) {
    const std::int64_t size = size_of(part.dimensions[axis]);
    expected.dimensions[axis].clear();
    if (size > 1) expected.dimensions[axis].push_back({atom.axis, size, atom.stride});
    if (!same_view(expected, part)) return std::nullopt;
    all += size;
    expected.offset[static_cast<std::size_t>(atom.axis)] += size * atom.stride;
  }
  atom.size = all;
  expected.dimensions[axis] = {atom};
  expected.offset = start;
  return expected;
}

/// Handles a node that inserts trained tokens before, after or between the tokens of a sequence. Returns false for any other
/// node.
bool add_class_tokens(Translation& translation, const onnx::NodeProto& node) {
  std::vector<View> parts;
  std::vector<Value> tokens;
  for (int i = 0; i < node.input_size(); ++i) {
    const Value& value = translation.input(node, i);
    if (value.is_network()) {
      parts.push_back(translation.plain(node, value));
    } else if (value.kind == Value::Kind::stored && value.shape) {
      tokens.push_back(value);
    } else {
      return false;
    }
  }
  if (parts.empty() || tokens.empty()) return false;
  const std::size_t rank = parts.front().dimensions.size();
  if (rank != 3 || dimension_of(translation, node, integer_attribute(node, "axis", 0), rank) != 1) return false;
  const bool are_alike =
      std::all_of(parts.begin(), parts.end(), [&](const View& part) { return part.dimensions.size() == rank; });
  const auto whole_sequence = parts.size() == 1 ? std::optional(parts.front())
                              : are_alike       ? joined_slices(parts, 1)
                                                : std::nullopt;
  if (!whole_sequence) return false;
  std::int64_t all = 0;
  for (const Value& value : tokens) {
    const std::vector<std::int64_t>& shape = *value.shape;
    if (shape.size() != 3 || shape[2] != size_of(whole_sequence->dimensions[2]) || shape[1] < 1) return false;
    all += std::min(shape[1], most_class_tokens + 1);
    if (all > most_class_tokens) return false;
  }
  View view = translation.as_rows(node, translation.gathered(node, *whole_sequence));
  TensorShape shape = translation.network().shape(view.tensor);
  if (!shape.sequence) return false;
  for (const Value& stored : tokens) {
    const std::int64_t count = (*stored.shape)[1];
    for (std::int64_t token = 0; token < count; ++token) {
      ++shape.extent[0];
      NetworkLayer layer{.operation = "class_token", .inputs = {view.tensor}, .shape = shape};
      layer.weight = stored.source;
      layer.has_whole_weight = count == 1;
      view.tensor = translation.add_layer(node, std::move(layer), "class_token");
    }
  }
  view.dimensions[1] = whole(first_position, shape.extent[0]);
  translation.set_view(node, std::move(view));
  return true;
}

/// Concatenates whole tensors that differ in only one dimension.
void join_flat(Translation& translation, const onnx::NodeProto& node, const std::vector<View>& parts, std::size_t axis) {
  std::vector<std::int64_t> sizes = sizes_of(parts.front());
  TensorShape flat{.channels = 0};
  std::vector<int> tensors;
  sizes[axis] = 0;
  for (const View& part : parts) {
    const TensorShape shape = translation.network().shape(part.tensor);
    sizes[axis] += size_of(part.dimensions[axis]);
    flat.channels += shape.items();
    if (flat.channels > largest * largest / 2) translation.graph().fail(node, "the output is too large");
    int tensor = part.tensor;
    if (shape.rank > 0) {
      tensor = translation.network().add_once(
          {.operation = "flatten", .inputs = {tensor}, .shape = {.channels = shape.items()}, .name = "flatten"});
    }
    tensors.push_back(tensor);
  }
  View all{.tensor = -1, .dimensions = std::vector<Dimension>(sizes.size())};
  all.dimensions[0] = parts.front().dimensions[0];
  all.tensor = translation.add_layer(node, {.operation = "concat", .inputs = tensors, .shape = flat}, "concat");
  const bool has_batch = !atoms_of(parts.front(), batch).empty();
  for (std::size_t d = 0; d < sizes.size(); ++d) {
    if (!has_batch || d > 0) all.dimensions[d] = whole(channels, sizes[d]);
  }
  // The result is still a sequence, with channels last.
  if (translation.network().shape(parts.front().tensor).sequence && sizes.size() == 3 && (has_batch || sizes[0] == 1)) {
    translation.set_view(node, translation.relaid(all, {batch, first_position, channels}, true));
  } else {
    translation.set_view(node, translation.fresh(node, all, sizes));
  }
}

/// Handles a node that concatenates adjacent slices of one tensor, such as the rotated and the other channels of queries.
/// Returns false for any other node.
bool rejoins_slices(Translation& translation, const onnx::NodeProto& node) {
  std::vector<View> parts;
  for (int i = 0; i < node.input_size(); ++i) {
    const Value& value = translation.input(node, i);
    if (!value.is_plain()) return false;
    parts.push_back(value.view);
    if (parts.back().dimensions.size() != parts.front().dimensions.size()) return false;
  }
  if (parts.size() < 2) return false;
  const std::size_t rank = parts.front().dimensions.size();
  auto joined = joined_slices(parts, dimension_of(translation, node, integer_attribute(node, "axis", 0), rank));
  if (!joined) return false;
  translation.set_view(node, std::move(*joined));
  return true;
}

}  // namespace

void translate_concat(Translation& translation, const onnx::NodeProto& node) {
  if (add_class_tokens(translation, node) || rejoins_slices(translation, node)) return;
  std::vector<View> parts;
  std::size_t axis = 0;
  bool of_channels = true;
  for (int i = 0; i < node.input_size(); ++i) {
    if (!translation.input(node, i).is_network()) {
      translation.not_understood(node, "concatenation of activations with constants is not supported");
      return;
    }
    View view = translation.gathered(node, translation.plain_input(node, i));
    if (parts.empty()) axis = dimension_of(translation, node, integer_attribute(node, "axis", 0), view.dimensions.size());
    std::vector<std::int64_t> sizes = sizes_of(view);
    const std::vector<std::int64_t> expected = sizes_of(parts.empty() ? view : parts.front());
    if (axis < sizes.size() && axis < expected.size()) sizes[axis] = expected[axis];
    if (sizes != expected) translation.graph().fail(node, "tensors with different positions are concatenated");
    if (has_axis(view.dimensions[axis], batch)) {
      translation.not_understood(node, "concatenation of samples of the batch is not supported");
      return;
    }
    of_channels = of_channels && is_whole(view, axis, channels, translation.network().shape(view.tensor));
    parts.push_back(std::move(view));
  }
  if (parts.size() == 1) {
    translation.set_view(node, parts.front());
    return;
  }
  View all = parts.front();
  std::vector<int> tensors;
  TensorShape shape = translation.network().shape(all.tensor);
  shape.channels = 0;
  for (const View& part : parts) {
    View same = part;
    same.dimensions[axis] = all.dimensions[axis];
    const TensorShape other = translation.network().shape(part.tensor);
    of_channels = of_channels && same.dimensions == all.dimensions && other.extent == shape.extent &&
                  other.rank == shape.rank && other.sequence == shape.sequence;
    shape.channels += other.channels;
    if (shape.channels > largest) translation.graph().fail(node, "the output is too large");
    tensors.push_back(part.tensor);
  }
  if (!of_channels) {
    join_flat(translation, node, parts, axis);
    return;
  }
  all.dimensions[axis] = whole(channels, shape.channels);
  all.tensor = translation.add_layer(node, {.operation = "concat", .inputs = tensors, .shape = shape}, "concat");
  translation.set_view(node, std::move(all));
}

}  // namespace ddl::onnx_import
