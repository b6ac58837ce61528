// Computes values that a graph derives from weights, constants and inputs outside of the network. A value with known
// content, such as the sizes for a reshape, is evaluated. Of all other values, such as masks, only the shape is kept.

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "model_zoo/importers/onnx/elementwise.hpp"
#include "model_zoo/importers/onnx/shape_inference.hpp"
#include "model_zoo/importers/onnx/slices.hpp"
#include "model_zoo/importers/onnx/translation.hpp"

namespace ddl::onnx_import {
namespace {

Value of_numbers(Numbers numbers) {
  Value value{.kind = Value::Kind::stored, .shape = numbers.shape, .integral = numbers.integral};
  value.source_shape = numbers.shape;
  value.numbers = std::make_shared<const Numbers>(std::move(numbers));
  return value;
}

/// Returns whether all elements on and below the diagonal have one value, and all elements above the diagonal another value.
bool hides_what_comes_later(const Numbers& numbers) {
  const std::size_t rank = numbers.shape.size();
  if (rank < 2 || numbers.shape[rank - 1] != numbers.shape[rank - 2] || numbers.shape[rank - 1] < 2) return false;
  const auto size = static_cast<std::size_t>(numbers.shape[rank - 1]);
  if (numbers.count() != size * size) return false;
  const double below = numbers.real(0);
  const double above = numbers.real(1);
  if (below == above) return false;
  for (std::size_t row = 0; row < size; ++row) {
    for (std::size_t column = 0; column < size; ++column) {
      if (numbers.real(row * size + column) != (column > row ? above : below)) return false;
    }
  }
  return true;
}

/// Returns whether a stored tensor of this shape may be a mask of later tokens, as in a
/// transformer, because it is a square matrix.
bool may_hide(const std::vector<std::int64_t>& shape) {
  const std::size_t rank = shape.size();
  return rank >= 2 && shape[rank - 1] == shape[rank - 2] && shape[rank - 1] > 1 &&
         std::all_of(shape.begin(), shape.end() - 2, [](std::int64_t size) { return size == 1; });
}

std::optional<Numbers> constant_of(const Translation& translation, const onnx::NodeProto& node) {
  if (const auto* const tensor = find_attribute(node, "value")) {
    return stored_tensor(tensor->t(), node.output(0), translation.graph().origin()).numbers;
  }
  if (const auto* const number = find_attribute(node, "value_int")) return Numbers{.shape = {}, .integers = {number->i()}};
  if (const auto* const number = find_attribute(node, "value_float")) {
    return Numbers{.shape = {}, .integral = false, .reals = {static_cast<double>(number->f())}};
  }
  if (find_attribute(node, "value_ints") != nullptr) {
    const std::vector<std::int64_t> items = integers_attribute(node, "value_ints");
    return Numbers{.shape = {static_cast<std::int64_t>(items.size())}, .integers = items};
  }
  return std::nullopt;
}

Value constant_value(const Translation& translation, const onnx::NodeProto& node) {
  Value value{.kind = Value::Kind::stored};
  if (const auto* const attribute = find_attribute(node, "value")) {
    value.shape = stored_tensor(attribute->t(), node.output(0), translation.graph().origin()).shape;
    value.source = node.output(0);
    value.source_shape = *value.shape;
  }
  if (auto numbers = constant_of(translation, node)) {
    const std::string source = value.source;
    value = of_numbers(std::move(*numbers));
    value.source = source;
  }
  return value;
}

/// Returns all or some of a constant's elements, in another shape. The result still refers to the stored tensor.
Value rearranged(const Value& from, std::vector<std::int64_t> shape, std::optional<Numbers> numbers) {
  Value value = from;
  value.shape = std::move(shape);
  value.numbers = numbers ? std::make_shared<const Numbers>(std::move(*numbers)) : nullptr;
  value.tokens = false;
  return value;
}

/// Returns `value` with another view of the elements of `from`. If `from` contains tokens, so does the result.
Value seen_as(Value value, const Value& from, std::optional<View> view) {
  value.tokens = from.tokens && view;
  if (value.tokens) value.view = std::move(*view);
  return value;
}

Value with_shape(const Value& from, std::vector<std::int64_t> shape) {
  std::optional<Numbers> numbers;
  if (from.numbers) {
    numbers = *from.numbers;
    numbers->shape = shape;
  }
  auto view = from.tokens ? reshaped(from.view, shape) : std::nullopt;
  return seen_as(rearranged(from, std::move(shape), std::move(numbers)), from, std::move(view));
}

std::optional<Value> gather(const Translation& translation, const onnx::NodeProto& node, const Value& data,
                            const Value& indices) {
  if (!data.shape || !indices.shape || data.shape->empty()) return std::nullopt;
  const std::size_t axis = dimension_of(translation, node, integer_attribute(node, "axis", 0), data.shape->size());
  std::vector<std::int64_t> shape(data.shape->begin(), data.shape->begin() + static_cast<std::ptrdiff_t>(axis));
  shape.insert(shape.end(), indices.shape->begin(), indices.shape->end());
  shape.insert(shape.end(), data.shape->begin() + static_cast<std::ptrdiff_t>(axis) + 1, data.shape->end());
  if (!is_countable(shape)) return std::nullopt;
  std::optional<Numbers> numbers;
  if (data.numbers && data.shape->size() == 1 && indices.numbers && indices.numbers->integral) {
    const std::int64_t size = data.shape->front();
    for (const std::int64_t index : indices.numbers->integers) {
      if (index < -size || index >= size) {
        translation.graph().fail(node, fmt::format("the index {} is outside of {} elements", index, size));
      }
    }
    const auto pick = [&](std::size_t i) {
      const std::int64_t index = indices.numbers->integers[i];
      return static_cast<std::size_t>(index < 0 ? index + size : index);
    };
    numbers = picked(*data.numbers, shape, indices.numbers->count(), pick);
  }
  return rearranged(data, std::move(shape), std::move(numbers));
}

Value turned(const Value& data, const std::vector<std::int64_t>& whole, const std::vector<std::int64_t>& order) {
  std::vector<std::int64_t> shape;
  std::vector<std::size_t> strides(order.size(), 1);
  for (std::size_t d = 0; d < order.size(); ++d) {
    const auto from = static_cast<std::size_t>(order[d]);
    shape.push_back(whole[from]);
    for (std::size_t i = from + 1; i < order.size(); ++i) strides[d] *= static_cast<std::size_t>(whole[i]);
  }
  std::optional<Numbers> numbers;
  const auto count = small_count(shape);
  if (data.numbers && count) {
    const auto pick = [&](std::size_t index) {
      std::size_t at = 0;
      for (std::size_t d = shape.size(); d > 0; --d) {
        const auto extent = static_cast<std::size_t>(shape[d - 1]);
        at += index % extent * strides[d - 1];
        index /= extent;
      }
      return at;
    };
    numbers = picked(*data.numbers, shape, *count, pick);
  }
  auto view = data.tokens ? std::optional(transposed(data.view, order)) : std::nullopt;
  return seen_as(rearranged(data, std::move(shape), std::move(numbers)), data, std::move(view));
}

/// Returns a tensor with elements selected from two tensors.
std::optional<Value> chosen(const Translation& translation, const onnx::NodeProto& node) {
  const Value& condition = translation.input(node, 0);
  const Value& first = translation.input(node, 1);
  const Value& second = translation.input(node, 2);
  if (!condition.numbers || !first.numbers || !second.numbers) return std::nullopt;
  // The result is first · condition + second · (1 - condition), computed in whole numbers.
  if (!condition.numbers->integral || !first.numbers->integral || !second.numbers->integral) return std::nullopt;
  Numbers one{.shape = {}, .integers = {1}};
  const auto otherwise = joined("Sub", one, *condition.numbers);
  const auto left = joined("Mul", *first.numbers, *condition.numbers);
  const auto right = otherwise ? joined("Mul", *second.numbers, *otherwise) : std::nullopt;
  auto result = left && right ? joined("Add", *left, *right) : std::nullopt;
  if (!result) return std::nullopt;
  return of_numbers(std::move(*result));
}

std::optional<Value> slice(const Translation& translation, const onnx::NodeProto& node, const Value& data,
                           const std::vector<std::int64_t>& whole) {
  const auto ranges = ranges_of(translation, node, whole);
  if (!ranges) return std::nullopt;
  std::vector<std::int64_t> shape;
  for (const Range& range : *ranges) shape.push_back(range.count);
  std::optional<Numbers> numbers;
  const auto count = small_count(shape);
  if (data.numbers && count) {
    const auto pick = [&](std::size_t index) {
      std::size_t at = 0;
      std::size_t stride = 1;
      for (std::size_t i = shape.size(); i > 0; --i) {
        const Range& range = (*ranges)[i - 1];
        const auto extent = static_cast<std::size_t>(range.count);
        at += stride * static_cast<std::size_t>(range.start + range.step * static_cast<std::int64_t>(index % extent));
        stride *= static_cast<std::size_t>(whole[i - 1]);
        index /= extent;
      }
      return at;
    };
    numbers = picked(*data.numbers, shape, *count, pick);
  }
  std::optional<View> view;
  if (data.tokens) view = data.view;
  for (std::size_t d = 0; d < ranges->size() && view; ++d) {
    const Range& range = (*ranges)[d];
    if (range.count == size_of(view->dimensions[d])) continue;
    view = range.count > 0 && range.step == 1 ? sliced(*view, d, range.start, range.count) : std::nullopt;
  }
  // The cost of a lookup in a table does not depend on which tokens are looked up.
  if (view) view->offset = {0, 0, 0, 0};
  return seen_as(rearranged(data, std::move(shape), std::move(numbers)), data, std::move(view));
}

std::optional<Value> concatenated(const Translation& translation, const onnx::NodeProto& node) {
  const Value& first = translation.input(node, 0);
  Numbers all{.shape = {0}, .integral = !first.numbers || first.numbers->integral};
  for (int i = 0; i < node.input_size(); ++i) {
    const Value& part = translation.input(node, i);
    if (!part.numbers || part.numbers->integral != all.integral || part.numbers->shape.size() != 1) return std::nullopt;
    all.integers.insert(all.integers.end(), part.numbers->integers.begin(), part.numbers->integers.end());
    all.reals.insert(all.reals.end(), part.numbers->reals.begin(), part.numbers->reals.end());
    if (all.count() > most_numbers) return std::nullopt;
  }
  all.shape = {static_cast<std::int64_t>(all.count())};
  return of_numbers(std::move(all));
}

std::optional<Value> counted(const Translation& translation, const onnx::NodeProto& node) {
  std::int64_t bounds[3]{};
  for (int i = 0; i < 3; ++i) {
    const Value& bound = translation.input(node, i);
    if (!bound.numbers || !bound.numbers->integral || bound.numbers->count() != 1) return std::nullopt;
    bounds[i] = bound.numbers->integers.front();
  }
  const auto [start, limit, step] = bounds;
  if (step < 1 || start < 0 || limit < start || (limit - start) / step > static_cast<std::int64_t>(most_numbers))
    return std::nullopt;
  Numbers numbers;
  for (std::int64_t at = start; at < limit; at += step) numbers.integers.push_back(at);
  numbers.shape = {static_cast<std::int64_t>(numbers.integers.size())};
  return of_numbers(std::move(numbers));
}

std::optional<Value> filled(const Translation& translation, const onnx::NodeProto& node) {
  const Value& sizes = translation.input(node, 0);
  if (!sizes.numbers || !sizes.numbers->integral) return std::nullopt;
  const std::vector<std::int64_t> shape = sizes.numbers->integers;
  if (!is_countable(shape)) return std::nullopt;
  // In networks that are shipped without weights, generated numbers replace the weights.
  const std::string& name = node.output(0);
  Value value{.kind = Value::Kind::stored, .shape = shape, .source = name, .source_shape = shape, .filled = true};
  const auto count = small_count(shape);
  if (!count) return value;
  Numbers one{.shape = {1}, .integral = false, .reals = {0}};
  if (const auto* const item = find_attribute(node, "value")) {
    const auto given = stored_tensor(item->t(), node.output(0), translation.graph().origin()).numbers;
    if (!given || given->count() != 1) return value;
    one = *given;
  }
  value.numbers = std::make_shared<const Numbers>(picked(one, shape, *count, [](std::size_t) { return std::size_t{0}; }));
  value.integral = value.numbers->integral;
  return value;
}

std::optional<Value> cast(const onnx::NodeProto& node, const Value& data) {
  const std::int64_t type = integer_attribute(node, "to", onnx::TensorProto::FLOAT);
  const bool integral =
      type == onnx::TensorProto::INT64 || type == onnx::TensorProto::INT32 || type == onnx::TensorProto::BOOL;
  Value value = data;
  value.integral = integral;
  value.tokens = data.tokens && integral && type != onnx::TensorProto::BOOL;
  if (!data.numbers || data.numbers->integral == integral) return value;
  Numbers numbers{.shape = data.numbers->shape, .integral = integral};
  for (std::size_t i = 0; i < data.numbers->count(); ++i) {
    const double item = data.numbers->real(i);
    if (!integral) {
      numbers.reals.push_back(item);
    } else if (std::abs(item) < 9e15) {
      numbers.integers.push_back(static_cast<std::int64_t>(item));
    } else {
      value.numbers = nullptr;
      return value;
    }
  }
  value.numbers = std::make_shared<const Numbers>(std::move(numbers));
  return value;
}

std::optional<Value> of_one(const onnx::NodeProto& node, const Value& data) {
  if (node.op_type() == "Not" && data.numbers && data.numbers->integral) {
    Numbers numbers = *data.numbers;
    for (std::int64_t& item : numbers.integers) item = item == 0 ? 1 : 0;
    return of_numbers(std::move(numbers));
  }
  if (!data.numbers || data.numbers->integral) return std::nullopt;
  if (node.op_type() == "Ceil" || node.op_type() == "Floor") {
    Numbers numbers = *data.numbers;
    for (double& item : numbers.reals) item = node.op_type() == "Ceil" ? std::ceil(item) : std::floor(item);
    return of_numbers(std::move(numbers));
  }
  const auto number = uniform(*data.numbers);
  if (!number) return std::nullopt;
  const auto made = applied(node, constant_function(*number));
  if (!made) return std::nullopt;
  Numbers numbers = *data.numbers;
  std::fill(numbers.reals.begin(), numbers.reals.end(), (*made)->front());
  return of_numbers(std::move(numbers));
}

/// Limits known numbers to the range of a node `Clip`, whose bounds are inputs.
std::optional<Value> clipped(const Translation& translation, const onnx::NodeProto& node, const Numbers& numbers) {
  std::optional<Numbers> result = numbers;
  for (const auto& [index, kind] : {std::pair{1, "Max"}, std::pair{2, "Min"}}) {
    const Value* const bound = translation.find_input(node, index);
    if (bound == nullptr) continue;
    if (!bound->numbers) return std::nullopt;
    result = joined(kind, *result, *bound->numbers);
    if (!result) return std::nullopt;
  }
  return of_numbers(std::move(*result));
}

std::optional<Value> folded(const Translation& translation, const onnx::NodeProto& node) {
  const std::string& kind = node.op_type();
  if (kind == "Constant") return constant_value(translation, node);
  if (kind == "Range" && node.input_size() == 3) return counted(translation, node);
  if (kind == "ConstantOfShape") return filled(translation, node);
  if (kind == "Where" && node.input_size() == 3) return chosen(translation, node);
  if (kind == "Concat") return concatenated(translation, node);
  const Value* const data = translation.find_input(node, 0);
  if (data == nullptr) return std::nullopt;
  if (kind == "Identity") {
    Value same = *data;
    // Exporters store equal contents only once. Two layers may therefore read one stored tensor of
    // ones, as in an untrained model, without sharing weights.
    if (same.named && same.numbers && uniform(*same.numbers)) same.source = node.output(0);
    return same;
  }
  // Tokens remain row numbers after an operator has limited their values.
  if (data->tokens && (kind == "Clip" || kind == "Max" || kind == "Min")) return *data;
  if (kind == "Cast") return cast(node, *data);
  if (!data->shape) return std::nullopt;
  if (kind == "Shape") return of_numbers(shape_numbers(node, *data->shape));
  if (kind == "Size" && is_countable(*data->shape)) {
    Numbers count{.shape = {}, .integers = {1}};
    for (const std::int64_t size : *data->shape) count.integers.front() *= size;
    return of_numbers(std::move(count));
  }
  if (kind == "Transpose") {
    const std::vector<std::int64_t> order = order_of(translation, node, data->shape->size());
    return turned(*data, *data->shape, order);
  }
  if (kind == "Squeeze" || kind == "Unsqueeze") {
    const Value* const axes = translation.find_input(node, 1);
    if (axes != nullptr && !axes->numbers) return std::nullopt;
    return with_shape(*data, squeezed_sizes(translation, node, *data->shape));
  }
  if (kind == "Slice") return slice(translation, node, *data, *data->shape);
  const Value* const second = translation.find_input(node, 1);
  if (second == nullptr) return of_one(node, *data);
  if (kind == "Reshape") {
    if (!second->numbers || !second->numbers->integral) return std::nullopt;
    auto sizes = reshaped_sizes(node, *data->shape, second->numbers->integers);
    if (!sizes) return std::nullopt;
    return with_shape(*data, std::move(*sizes));
  }
  if (kind == "Gather") return gather(translation, node, *data, *second);
  if (kind == "Clip" && data->numbers) return clipped(translation, node, *data->numbers);
  if (data->numbers && second->numbers && node.input_size() == 2) {
    if (auto numbers = joined(kind, *data->numbers, *second->numbers)) return of_numbers(std::move(*numbers));
  }
  return std::nullopt;
}

/// Returns the shape of a reduction's result; empty for other operators, and for unknown axes. Old versions of the library
/// do not support axes as an input.
std::optional<std::vector<std::int64_t>> reduced_shape(const Translation& translation, const onnx::NodeProto& node) {
  if (!node.op_type().starts_with("Reduce")) return std::nullopt;
  const Value* const data = translation.find_input(node, 0);
  const Value* const given = translation.find_input(node, 1);
  if (data == nullptr || !data->shape || (given != nullptr && !given->numbers)) return std::nullopt;
  const auto axes = integers_of(translation, node, given != nullptr ? 1 : -1, "axes");
  const bool all = !axes || axes->empty();
  if (all && integer_attribute(node, "noop_with_empty_axes", 0) != 0) return data->shape;
  std::vector<bool> taken(data->shape->size(), all);
  if (!all) {
    for (const std::int64_t axis : *axes) taken[dimension_of(translation, node, axis, taken.size())] = true;
  }
  std::vector<std::int64_t> shape;
  const bool keeps = integer_attribute(node, "keepdims", 1) != 0;
  for (std::size_t d = 0; d < taken.size(); ++d) {
    if (!taken[d] || keeps) shape.push_back(taken[d] ? 1 : (*data->shape)[d]);
  }
  return shape;
}

/// Returns the broadcast shape of an elementwise operator's result; empty for other operators.
std::optional<std::vector<std::int64_t>> joined_shape(const Translation& translation, const onnx::NodeProto& node) {
  constexpr std::string_view joining[] = {"Add",   "Sub",  "Mul",     "Div",   "Pow", "Where", "And", "Or", "Not",
                                          "Equal", "Less", "Greater", "Trilu", "Neg", "Sqrt",  "Max", "Min"};
  if (std::find(std::begin(joining), std::end(joining), node.op_type()) == std::end(joining)) return std::nullopt;
  const int count = node.op_type() == "Trilu" ? 1 : node.input_size();
  std::optional<std::vector<std::int64_t>> shape = std::vector<std::int64_t>();
  for (int i = 0; i < count && shape; ++i) {
    const Value* const part = translation.find_input(node, i);
    if (part == nullptr || !part->shape) return std::nullopt;
    shape = broadcast(*shape, *part->shape);
  }
  return shape;
}

}  // namespace

namespace {

/// Returns the shape of a result with unknown content, and the stored tensors that the result is computed from.
Value shape_alone(const Translation& translation, const onnx::NodeProto& node) {
  Value value{.kind = Value::Kind::side};
  std::vector<KnownInput> known;
  bool stored = node.input_size() > 0;
  std::size_t most = 0;
  for (int i = 0; i < node.input_size(); ++i) {
    const Value* const part = translation.find_input(node, i);
    known.emplace_back();
    if (part == nullptr) continue;
    known.back() = {.shape = part->shape, .numbers = part->numbers.get()};
    stored = stored && part->kind == Value::Kind::stored;
    // If the graph scales, casts or transposes weights, the result is treated as the largest of the tensors.
    std::size_t items = 1;
    for (const std::int64_t size : part->source_shape) items *= static_cast<std::size_t>(size);
    if (part->source.empty() || items < most) continue;
    most = items;
    value.source = part->source;
    value.source_shape = part->source_shape;
    value.named = part->named;
  }
  value.shape = joined_shape(translation, node);
  if (!value.shape) value.shape = reduced_shape(translation, node);
  constexpr std::string_view inside[] = {"If", "Loop", "Scan"};  // shape inference of these operators evaluates subgraphs
  const bool has_graphs = std::find(std::begin(inside), std::end(inside), node.op_type()) != std::end(inside);
  if (!value.shape && !has_graphs && translation.graph().is_known(node))
    value.shape = inferred_sizes(node, translation.graph().opset(), known);
  if (stored && value.shape) value.kind = Value::Kind::stored;
  return value;
}

}  // namespace

void translate_constants(Translation& translation, const onnx::NodeProto& node) {
  Value value{.kind = Value::Kind::side};
  const bool ours = node.domain().empty() || node.domain() == "ai.onnx";
  if (ours) {
    if (auto known = folded(translation, node)) {
      value = std::move(*known);
    } else {
      value = shape_alone(translation, node);
    }
  }
  // The result of any operation on a mask is a mask.
  for (int i = 0; i < node.input_size(); ++i) {
    const Value* const part = translation.find_input(node, i);
    if (part == nullptr) continue;
    value.causal = value.causal || part->causal;
    value.of_tokens = value.of_tokens || ((part->tokens || part->of_tokens) && !value.tokens && !value.numbers);
    if (node.op_type() == "Gather" && i == 1 && part->of_tokens) translation.lost_lookup(node);
  }
  value.causal = value.causal || node.op_type() == "Trilu" || (value.numbers && hides_what_comes_later(*value.numbers)) ||
                 (value.kind == Value::Kind::stored && !value.numbers && value.shape && may_hide(*value.shape));
  for (int i = 1; i < node.output_size(); ++i) translation.set_output(node, {.kind = Value::Kind::side}, i);
  translation.set_output(node, std::move(value));
}

bool is_causal(const Value& mask) {
  if (mask.causal) return true;
  if (mask.numbers) return hides_what_comes_later(*mask.numbers);
  return mask.kind == Value::Kind::stored && mask.shape && may_hide(*mask.shape);
}

}  // namespace ddl::onnx_import
