// Elementwise operators: functions of one tensor, sums and products of several, and operators on the scores of an attention
// before the softmax.

#include <algorithm>
#include <cassert>

#include <fmt/format.h>

#include "core/source_text.hpp"
#include "model_zoo/importers/onnx/elementwise.hpp"
#include "model_zoo/importers/onnx/names.hpp"
#include "model_zoo/importers/onnx/translation.hpp"

namespace ddl::onnx_import {

Translator translate_function, translate_joined, translate_clip, translate_softmax, translate_where;

namespace {

/// Maximum number of consecutive operators that are treated as one function; no activation has more.
constexpr int most_operators = 40;

/// A value that may be an argument of a function of one item: its view and its function so far.
Value function_input(Translation& translation, const onnx::NodeProto& node, const Value& value) {
  if (!value.moment && !value.scores && value.pads.empty() && value.operators < most_operators) return value;
  return {.kind = Value::Kind::network, .view = translation.plain(node, value)};
}

void set_function(Translation& translation, const onnx::NodeProto& node, const Value& base, Function function,
                  int operators) {
  Value value{.kind = Value::Kind::network, .view = base.view, .function = std::move(function), .maker = &node};
  value.operators = operators + 1;
  translation.set_output(node, std::move(value));
}

/// For an operator that yields a function: the others are translated elsewhere.
Function made(std::optional<Function> function) {
  assert(function);
  return std::move(*function);
}

/// The constant function for a value with a single number; null if the number is not known. A tensor of equal numbers does
/// not count: it may be trained, but still have its initial values.
std::optional<Function> number_in(const Value& value, const std::vector<std::int64_t>& beside) {
  if (value.is_network() || !value.shape || value.shape->size() > beside.size()) return std::nullopt;
  for (const std::int64_t size : *value.shape) {
    if (size != 1) return std::nullopt;
  }
  if (!value.numbers) return Function();
  return constant_function(value.numbers->real(0));
}

/// Brings two whole tensors into one layout.
bool lie_alike(Translation& translation, View& a, View& b) {
  if (a.dimensions == b.dimensions && translation.network().shape(a.tensor) == translation.network().shape(b.tensor))
    return true;
  if (sizes_of(a) != sizes_of(b)) return false;
  View tokens_a = translation.with_tokens(a);
  View tokens_b = translation.with_tokens(b);
  if (tokens_a.dimensions != tokens_b.dimensions) return false;
  if (!(translation.network().shape(tokens_a.tensor) == translation.network().shape(tokens_b.tensor))) return false;
  a = std::move(tokens_a);
  b = std::move(tokens_b);
  return true;
}

/// One number per channel, next to a tensor with as many channels and more positions.
bool is_gate(const Network& network, const View& gate, const View& view) {
  const TensorShape& shape = network.shape(gate.tensor);
  if (shape.positions() != 1 || shape.channels != network.shape(view.tensor).channels) return false;
  if (gate.dimensions.size() != view.dimensions.size()) return false;
  for (std::size_t d = 0; d < view.dimensions.size(); ++d) {
    const bool positions = !view.dimensions[d].empty() && view.dimensions[d].front().axis >= first_position;
    if (positions ? !gate.dimensions[d].empty() : gate.dimensions[d] != view.dimensions[d]) return false;
  }
  return true;
}

/// Removes a repetition that only expands the value to the size of the other tensor.
Value unrepeated(Value value, const View& beside) {
  std::vector<Dimension>& dimensions = value.view.dimensions;
  for (std::size_t d = 0; d < dimensions.size() && dimensions.size() == beside.dimensions.size(); ++d) {
    const bool fits = !has_axis(beside.dimensions[d], repeated) && size_of(beside.dimensions[d]) == size_of(dimensions[d]);
    if (fits && has_axis(dimensions[d], repeated) && dimensions[d].size() == 1) dimensions[d].clear();
  }
  return value;
}

void join_tensors(Translation& translation, const onnx::NodeProto& node, const Value& first, const Value& second) {
  const std::string& kind = node.op_type();
  View a = translation.gathered(node, translation.plain(node, unrepeated(first, second.view)));
  View b = translation.gathered(node, translation.plain(node, unrepeated(second, first.view)));
  const bool adds = kind == "Add" || kind == "Sub";
  if (!adds && kind != "Mul") {
    translation.not_understood(node, "of two tensors, only sums and products are supported");
    return;
  }
  const bool alike = lie_alike(translation, a, b);
  if (!alike && is_gate(translation.network(), a, b)) std::swap(a, b);
  if (!alike && (adds || !is_gate(translation.network(), b, a))) {
    translation.graph().fail(node, fmt::format("it combines tensors of {} and {}, whose layouts differ",
                                               fmt::join(sizes_of(a), " x "), fmt::join(sizes_of(b), " x ")));
  }
  NetworkLayer layer{.operation = adds ? "add" : "multiply",
                     .inputs = {a.tensor, b.tensor},
                     .shape = translation.network().shape(a.tensor)};
  a.tensor = translation.add_layer(node, std::move(layer), adds ? "add" : "multiply");
  translation.set_view(node, std::move(a));
}

/// Adds a row of a small table to each token, such as that of its type.
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
  // A table of positions belongs to tokens; one number per channel may be an image's bias.
  const auto is_one = [](std::int64_t size) { return size == 1; };
  if (std::count_if(stored.shape->begin(), stored.shape->end(), is_one) + 1 <
      static_cast<std::ptrdiff_t>(stored.shape->size())) {
    view = translation.with_tokens(view);
  }
  const TensorShape shape = network.shape(view.tensor);
  std::vector<std::int64_t> beside(rank - stored.shape->size(), 1);
  beside.insert(beside.end(), stored.shape->begin(), stored.shape->end());
  bool all_channels = false;
  bool positions = false;
  for (std::size_t d = 0; d < rank; ++d) {
    if (beside[d] == 1) continue;
    if (beside[d] != sizes[d]) return false;
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
      // Fewer rows than tokens: a table of token types, not of positions.
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

/// A scale or a mask on scores does not change the cost.
void act_on_scores(Translation& translation, const onnx::NodeProto& node, const Value& scores, const Value& other) {
  Value value = scores;
  if (other.is_network()) translation.graph().fail(node, "attention scores are combined with another activation");
  const std::string& kind = node.op_type();
  if (scores.scores->normalized && !(kind == "Mul" || kind == "Div")) {
    translation.graph().fail(node, "weights of an attention are changed after the softmax");
  }
  auto changed = std::make_shared<Scores>(*scores.scores);
  changed->causal = changed->causal || is_causal(other);
  const auto is_one = [](std::int64_t size) { return size == 1; };
  const bool one_number = other.shape && std::all_of(other.shape->begin(), other.shape->end(), is_one);
  if (kind != "Where" && other.named && !one_number && !is_causal(other)) {
    const std::string warning =
        fmt::format("not counted: {}, which acts on the scores of an attention", quote(other.source));
    std::vector<std::string>& warnings = translation.network().warnings;
    if (warnings.empty() || warnings.back() != warning) warnings.push_back(warning);
  }
  value.scores = std::move(changed);
  translation.set_output(node, std::move(value));
}

}  // namespace

void translate_function(Translation& translation, const onnx::NodeProto& node) {
  const Value base = function_input(translation, node, translation.input(node, 0));
  set_function(translation, node, base, made(applied(node, base.function)), base.operators);
}

void translate_clip(Translation& translation, const onnx::NodeProto& node) {
  const Value base = function_input(translation, node, translation.input(node, 0));
  std::optional<double> bounds[2];
  for (const int i : {1, 2}) {
    const Value* const bound = translation.find_input(node, i);
    if (bound == nullptr) continue;
    if (bound->numbers) bounds[i - 1] = uniform(*bound->numbers);
    if (!bounds[i - 1]) translation.graph().fail(node, "its bounds are not known");
  }
  set_function(translation, node, base, made(applied(node, base.function, bounds[0], bounds[1])), base.operators);
}

void translate_joined(Translation& translation, const onnx::NodeProto& node) {
  if (node.input_size() != 2) {
    translation.not_understood(node, fmt::format("{} of {} tensors is not supported", node.op_type(), node.input_size()));
    return;
  }
  const Value first = translation.input(node, 0);
  const Value second = translation.input(node, 1);
  if (first.scores || second.scores) {
    act_on_scores(translation, node, first.scores ? first : second, first.scores ? second : first);
    return;
  }
  const std::string& kind = node.op_type();
  if (first.is_network() && second.is_network()) {
    const Value a = function_input(translation, node, first);
    const Value b = function_input(translation, node, second);
    if (same_view(a.view, b.view)) {
      set_function(translation, node, a, made(joined(kind, a.function, b.function)), a.operators + b.operators);
    } else {
      join_tensors(translation, node, first, second);
    }
    return;
  }
  const bool in_order = first.is_network();
  const Value& tensor = in_order ? first : second;
  const Value& other = in_order ? second : first;
  if (const auto number = number_in(other, sizes_of(tensor.view))) {
    const Value base = function_input(translation, node, tensor);
    // A trained number scales or shifts, without cost; known numbers may be part of an activation.
    const Function function = !*number   ? base.function
                              : in_order ? made(joined(kind, base.function, *number))
                                         : made(joined(kind, *number, base.function));
    set_function(translation, node, base, function, base.operators);
    return;
  }
  if (kind == "Mul" && other.kind == Value::Kind::stored && scale_stored(translation, node, tensor, other)) return;
  if (kind == "Add" && other.kind == Value::Kind::stored && add_stored(translation, node, in_order ? 0 : 1, other)) return;
  translation.not_understood(node, "of constant tensors, only biases and vectors per position are supported");
}

void translate_softmax(Translation& translation, const onnx::NodeProto& node) {
  Value value = translation.input(node, 0);
  const std::int64_t otherwise = translation.graph().opset() >= 13 ? -1 : 1;
  const std::size_t rank = value.view.dimensions.size();
  const std::size_t axis = dimension_of(translation, node, integer_attribute(node, "axis", otherwise), rank);
  if (value.scores) {
    if (axis + 1 != rank || value.scores->normalized)
      translation.graph().fail(node, "the softmax is not over the keys of an attention");
    auto scores = std::make_shared<Scores>(*value.scores);
    scores->normalized = true;
    value.scores = std::move(scores);
    translation.set_output(node, std::move(value));
    return;
  }
  View view = translation.gathered(node, translation.plain(node, value));
  const TensorShape shape = translation.network().shape(view.tensor);
  if (!is_whole(view, axis, channels, shape)) {
    translation.not_understood(node, "a softmax over a dimension other than channels is not supported");
    return;
  }
  view.tensor = translation.add_layer(node, {.operation = "softmax", .inputs = {view.tensor}, .shape = shape}, "softmax");
  translation.set_view(node, std::move(view));
}

/// A mask on the scores of an attention, as a selection between them and a large negative number.
void translate_where(Translation& translation, const onnx::NodeProto& node) {
  const Value condition = translation.input(node, 0);
  const Value first = translation.input(node, 1);
  const Value second = translation.input(node, 2);
  if (condition.is_network() || (first.scores != nullptr) == (second.scores != nullptr)) {
    translation.not_understood(node, "a selection is supported on attention scores only");
    return;
  }
  act_on_scores(translation, node, first.scores ? first : second, first.scores ? second : first);
  Value value = translation.output(node);
  auto scores = std::make_shared<Scores>(*value.scores);
  scores->causal = scores->causal || is_causal(condition);
  value.scores = std::move(scores);
  translation.set_output(node, std::move(value));
}

}  // namespace ddl::onnx_import
