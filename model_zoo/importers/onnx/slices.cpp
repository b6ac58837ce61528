#include "model_zoo/importers/onnx/slices.hpp"

#include <algorithm>
#include <cstdlib>

#include <fmt/format.h>

namespace ddl::onnx_import {
namespace {

constexpr std::size_t most_result_dimensions = 32;  // for a computed value with known content

}  // namespace

std::optional<std::vector<Range>> ranges_of(const Translation& translation, const onnx::NodeProto& node,
                                            const std::vector<std::int64_t>& shape) {
  std::vector<Range> ranges;
  for (const std::int64_t size : shape) ranges.push_back({.count = size});
  for (const int i : {1, 2, 3, 4}) {
    const Value* const value = translation.find_input(node, i);
    if (value != nullptr && (value->numbers == nullptr || !value->numbers->integral)) return std::nullopt;
  }
  // Until opset 9, the bounds are attributes.
  const bool old = translation.graph().opset() < 10;
  const auto starts = integers_of(translation, node, old ? -1 : 1, "starts");
  const auto ends = integers_of(translation, node, old ? -1 : 2, "ends");
  if (!starts || !ends) translation.graph().fail(node, "the bounds are missing");
  const auto axes = integers_of(translation, node, old ? -1 : 3, "axes");
  const auto steps = integers_of(translation, node, old ? -1 : 4, "");
  const std::size_t count = starts->size();
  if (ends->size() != count || (axes && axes->size() != count) || (steps && steps->size() != count)) {
    translation.graph().fail(node, "the number of bounds differs from the number of axes");
  }
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t axis = dimension_of(translation, node, axes ? (*axes)[i] : static_cast<std::int64_t>(i), shape.size());
    const std::int64_t size = shape[axis];
    const std::int64_t step = steps ? (*steps)[i] : 1;
    constexpr std::int64_t longest_step = std::int64_t{1} << 31U;
    if (step == 0 || step > longest_step || step < -longest_step) return std::nullopt;
    // With a negative step, a slice may include position 0, and its end is then -1.
    const std::int64_t low = step > 0 ? 0 : -1;
    const std::int64_t high = step > 0 ? size : size - 1;
    const auto bound = [=](std::int64_t at) { return std::clamp(at < 0 ? at + size : at, low, high); };
    const std::int64_t start = bound((*starts)[i]);
    const std::int64_t length = std::max<std::int64_t>(0, step > 0 ? bound((*ends)[i]) - start : start - bound((*ends)[i]));
    const std::int64_t stride = std::abs(step);
    ranges[axis] = {.start = start, .step = step, .count = length / stride + (length % stride != 0 ? 1 : 0)};
  }
  return ranges;
}

std::optional<std::vector<std::int64_t>> reshaped_sizes(const onnx::NodeProto& node, const std::vector<std::int64_t>& shape,
                                                        std::vector<std::int64_t> wish) {
  constexpr std::int64_t most_items = std::int64_t{1} << 53U;
  std::int64_t items = 1;
  for (const std::int64_t size : shape) items *= size;
  std::int64_t known = 1;
  std::optional<std::size_t> inferred;
  for (std::size_t i = 0; i < wish.size(); ++i) {
    if (wish[i] == 0 && integer_attribute(node, "allowzero", 0) == 0) {
      if (i >= shape.size()) return std::nullopt;
      wish[i] = shape[i];
    }
    if (wish[i] == -1 && !inferred) {
      inferred = i;
    } else if (wish[i] < 1 || wish[i] > most_items / known) {
      return std::nullopt;
    } else {
      known *= wish[i];
    }
  }
  if (inferred) {
    if (items % known != 0 || items < known) return std::nullopt;
    wish[*inferred] = items / known;
    known = items;
  }
  if (known != items) return std::nullopt;
  return wish;
}

std::vector<std::int64_t> squeezed_sizes(const Translation& translation, const onnx::NodeProto& node,
                                         const std::vector<std::int64_t>& shape) {
  const bool adds = node.op_type() == "Unsqueeze";
  const auto axes = integers_of(translation, node, translation.graph().opset() >= 13 ? 1 : -1, "axes");
  const std::size_t rank = adds && axes ? shape.size() + axes->size() : shape.size();
  if (rank > most_result_dimensions) translation.graph().fail(node, fmt::format("the output has {} dimensions", rank));
  std::vector<bool> chosen(rank, false);
  if (axes) {
    for (const std::int64_t axis : *axes) chosen[dimension_of(translation, node, axis, rank)] = true;
  } else {
    if (adds) translation.graph().fail(node, "the axes are missing");
    for (std::size_t i = 0; i < rank; ++i) chosen[i] = shape[i] == 1;
  }
  std::vector<std::int64_t> sizes;
  std::size_t next = 0;
  for (std::size_t i = 0; i < rank; ++i) {
    if (adds) {
      if (!chosen[i] && next == shape.size()) translation.graph().fail(node, "a dimension is named twice");
      sizes.push_back(chosen[i] ? 1 : shape[next++]);
    } else if (!chosen[i]) {
      sizes.push_back(shape[i]);
    } else if (shape[i] != 1) {
      translation.graph().fail(node, fmt::format("dimension {} cannot be removed: its size is {}", i, shape[i]));
    }
  }
  return sizes;
}

std::vector<std::int64_t> order_of(const Translation& translation, const onnx::NodeProto& node, std::size_t rank) {
  std::vector<std::int64_t> order = integers_attribute(node, "perm");
  if (find_attribute(node, "perm") == nullptr) {
    for (std::size_t i = rank; i > 0; --i) order.push_back(static_cast<std::int64_t>(i) - 1);
  }
  std::vector<bool> seen(rank, false);
  bool valid = order.size() == rank;
  for (const std::int64_t axis : order) {
    valid = valid && axis >= 0 && axis < static_cast<std::int64_t>(rank) && !seen[static_cast<std::size_t>(axis)];
    if (valid) seen[static_cast<std::size_t>(axis)] = true;
  }
  if (!valid)
    translation.graph().fail(node, fmt::format("{} is not an order of {} dimensions", fmt::join(order, ", "), rank));
  return order;
}

Numbers shape_numbers(const onnx::NodeProto& node, const std::vector<std::int64_t>& sizes) {
  const auto rank = static_cast<std::int64_t>(sizes.size());
  const auto bound = [rank](std::int64_t at) { return std::clamp<std::int64_t>(at < 0 ? at + rank : at, 0, rank); };
  const std::int64_t start = bound(integer_attribute(node, "start", 0));
  const std::int64_t end = std::max(start, bound(integer_attribute(node, "end", rank)));
  Numbers numbers{.shape = {end - start}};
  numbers.integers.assign(sizes.begin() + start, sizes.begin() + end);
  return numbers;
}

}  // namespace ddl::onnx_import
