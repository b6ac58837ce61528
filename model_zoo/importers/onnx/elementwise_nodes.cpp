// Translates elementwise operators: functions of one tensor, sums and products of several tensors,
// and operators on attention scores before the softmax.

#include <algorithm>
#include <cassert>

#include <fmt/format.h>

#include "core/source_text.hpp"
#include "model_zoo/importers/onnx/elementwise.hpp"
#include "model_zoo/importers/onnx/names.hpp"
#include "model_zoo/importers/onnx/translation.hpp"

namespace ddl::onnx_import {

Translator translate_function, translate_joined, translate_clip, translate_prelu, translate_pass, translate_softmax,
    translate_where;

namespace {

/// Maximum number of consecutive operators that are treated as one function; no activation has more.
constexpr int most_operators = 40;

/// Returns a value as the argument of a function of one element, with its view and the function that is already applied.
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

/// Returns the function that an operator computes. Requires an operator that computes a function of one element.
Function made(std::optional<Function> function) {
  assert(function);
  return std::move(*function);
}

/// Returns the constant function for a value with a single number; null if the number is not known. A tensor of equal
/// numbers is not a constant, because it may be a trained tensor with its initial values.
std::optional<Function> number_in(const Value& value, const std::vector<std::int64_t>& other) {
  if (value.is_network() || !value.shape || value.shape->size() > other.size()) return std::nullopt;
  for (const std::int64_t size : *value.shape) {
    if (size != 1) return std::nullopt;
  }
  if (!value.numbers) return Function();
  return constant_function(value.numbers->real(0));
}

/// Applies a scale or a mask to attention scores, which does not change the cost.
void act_on_scores(Translation& translation, const onnx::NodeProto& node, const Value& scores, const Value& other) {
  Value value = scores;
  if (other.is_network()) translation.graph().fail(node, "attention scores are combined with another activation");
  const std::string& kind = node.op_type();
  // If a token attends to no token, its attention weights are NaN, and PyTorch replaces them by zeros.
  const bool keeps_weights = kind == "Mul" || kind == "Div" || kind == "Where";
  if (scores.scores->normalized && !keeps_weights) {
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
  if (const Value& input = translation.input(node, 0);
      input.scores && node.op_type() == "Tanh" && !input.scores->normalized) {
    Value capped = input;
    auto scores = std::make_shared<Scores>(*input.scores);
    scores->has_soft_cap = true;
    capped.scores = std::move(scores);
    translation.set_output(node, std::move(capped));
    return;
  }
  const Value base = function_input(translation, node, translation.input(node, 0));
  set_function(translation, node, base, made(applied(node, base.function)), base.operators);
}

void translate_clip(Translation& translation, const onnx::NodeProto& node) {
  const Value base = function_input(translation, node, translation.input(node, 0));
  std::optional<double> bounds[2];
  if (translation.graph().opset() < 11) {
    for (const int i : {0, 1}) {
      const std::string_view name = i == 0 ? "min" : "max";
      if (find_attribute(node, name) != nullptr) bounds[i] = real_attribute(node, name, 0);
    }
  }
  for (const int i : {1, 2}) {
    const Value* const bound = translation.find_input(node, i);
    if (bound == nullptr) continue;
    if (bound->numbers) bounds[i - 1] = uniform(*bound->numbers);
    if (!bounds[i - 1]) translation.graph().fail(node, "the bounds are unknown");
  }
  set_function(translation, node, base, made(applied(node, base.function, bounds[0], bounds[1])), base.operators);
}

void translate_joined(Translation& translation, const onnx::NodeProto& node) {
  const std::string kind = node.op_type() == "Sum" || node.op_type() == "Mean" ? "Add" : node.op_type();
  if (node.input_size() == 1) {
    const Value only = translation.input(node, 0);
    translation.set_output(node, only);
    return;
  }
  if (node.input_size() != 2) {
    join_many(translation, node);
    return;
  }
  const Value first = translation.input(node, 0);
  const Value second = translation.input(node, 1);
  if (first.scores || second.scores) {
    act_on_scores(translation, node, first.scores ? first : second, first.scores ? second : first);
    return;
  }
  if (first.is_network() && second.is_network()) {
    const Value a = function_input(translation, node, first);
    const Value b = function_input(translation, node, second);
    const auto function = same_view(a.view, b.view) ? joined(kind, a.function, b.function) : std::nullopt;
    if (function) {
      set_function(translation, node, a, *function, a.operators + b.operators);
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
    // A trained number scales or shifts, which costs nothing. A known number may be part of an activation.
    const auto function = !*number   ? std::optional(base.function)
                          : in_order ? joined(kind, base.function, *number)
                                     : joined(kind, *number, base.function);
    if (function) {
      set_function(translation, node, base, *function, base.operators);
      return;
    }
  }
  join_stored(translation, node, in_order ? 0 : 1, other);
}

/// A trained slope for each channel costs as much as a trained scale. A single slope is a leaky rectifier.
void translate_prelu(Translation& translation, const onnx::NodeProto& node) {
  const Value slope = translation.input(node, 1);
  View view = translation.gathered(node, translation.plain_input(node, 0));
  const TensorShape shape = translation.network().shape(view.tensor);
  std::int64_t count = slope.shape ? 1 : -1;
  for (const std::int64_t size : slope.shape.value_or(std::vector<std::int64_t>())) count *= size;
  NetworkLayer layer{.operation = "scale", .attributes = {{"factor", "trained"}}, .inputs = {view.tensor}, .shape = shape};
  if (count == 1) {
    layer.operation = "activation";
    layer.attributes = {{"kind", "leaky_relu"}};
    if (slope.named) translation.assume(node, "a single trained slope, which does not count as a parameter");
  } else if (slope.kind != Value::Kind::stored || count != shape.channels) {
    translation.not_understood(node, "the slopes are not one stored number per channel");
    return;
  }
  layer.weight = slope.source;
  view.tensor = translation.add_layer(node, std::move(layer), "prelu");
  translation.set_view(node, std::move(view));
}

/// Translates functions without weights that have no name in model files.
void translate_pass(Translation& translation, const onnx::NodeProto& node) {
  translation.pass(node, translation.plain_input(node, 0),
                   fmt::format("{}, which counts as one pass over the elements", node.op_type()));
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
  if (has_axis(view.dimensions[axis], batch)) {
    translation.not_understood(node, "a softmax over the samples of the batch is not supported");
    return;
  }
  if (!is_whole(view, axis, channels, translation.network().shape(view.tensor))) {
    std::vector<int> axes(rank, first_position);
    axes[axis] = channels;
    view = translation.relaid(view, axes, translation.network().shape(view.tensor).sequence);
  }
  const TensorShape shape = translation.network().shape(view.tensor);
  view.tensor = translation.add_layer(node, {.operation = "softmax", .inputs = {view.tensor}, .shape = shape}, "softmax");
  translation.set_view(node, std::move(view));
}

/// Translates a test of attention scores, whose result selects scores. The tests of other tensors are not layers.
void translate_test(Translation& translation, const onnx::NodeProto& node) {
  const Value& value = translation.input(node, 0);
  if (!value.scores) {
    translation.not_understood(node, "elementwise tests are supported on attention scores only");
    return;
  }
  translation.set_output(node, {.kind = Value::Kind::side, .shape = sizes_of(value.view)});
}

/// Translates a mask of attention that selects, for each score, the score or a large negative number.
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
