#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "model_zoo/values/tensor_shape.hpp"

namespace ddl::onnx_import {

/// A dimension of a graph's tensor iterates over an axis of one of our tensors. Axes from `first_position` on are the
/// spatial extents, or the tokens of a sequence.
enum Axis : int { repeated = -2, batch = -1, channels = 0, first_position = 1 };

/// A part of an axis: the coordinate along the axis is the sum of stride · coordinate over its atoms, plus the offset of the
/// view. 12 heads of 64 channels are two atoms of the axis `channels`: {12, stride 64} and {64, stride 1}.
struct Atom {
  int axis = channels;
  std::int64_t size = 1;
  std::int64_t stride = 1;
  friend bool operator==(const Atom&, const Atom&) = default;
};
/// The maximum number of spatial extents of a tensor.
inline constexpr int most_positions = 3;
/// One dimension: the product of its atoms, the first one slowest. Empty for a dimension of size 1.
using Dimension = std::vector<Atom>;

/// Maps a tensor of the graph to one of our tensors: reshapes, transposes and slices change the view and move no data.
struct View {
  int tensor = -1;  ///< index of a layer; -1 is the model's input
  std::vector<Dimension> dimensions;
  std::array<std::int64_t, 4> offset{0, 0, 0, 0};  ///< offset of each axis from `channels` on
};
/// Whether two views read the same items of the same tensor in the same order.
[[nodiscard]] inline bool same_view(const View& a, const View& b) {
  return a.tensor == b.tensor && a.dimensions == b.dimensions && a.offset == b.offset;
}

[[nodiscard]] std::int64_t size_of(const Dimension& dimension);
[[nodiscard]] std::vector<std::int64_t> sizes_of(const View& view);
/// The whole axis of a tensor; empty for an axis of one item.
[[nodiscard]] Dimension whole(int axis, std::int64_t size);
/// Merges adjacent atoms, and drops atoms of one item.
void tidy(Dimension& dimension);

/// Returns empty if a dimension would split an atom that cannot be divided in this way.
[[nodiscard]] std::optional<View> reshaped(const View& view, std::span<const std::int64_t> sizes);
[[nodiscard]] View transposed(const View& view, std::span<const std::int64_t> order);
/// `count` positions of one dimension from `start`, `step` apart; empty if no view can describe these positions.
[[nodiscard]] std::optional<View> sliced(const View& view, std::size_t dimension, std::int64_t start, std::int64_t count,
                                         std::int64_t step = 1);

/// The view of a tensor whose dimensions are samples, channels and positions, as in channels-first images.
[[nodiscard]] View image_view(int tensor, const Dimension& samples, const TensorShape& shape);
/// The shape with these channels and positions.
[[nodiscard]] TensorShape image_shape(std::span<const std::int64_t> sizes);
/// Converts a view of a part of a tensor to a view of a new tensor with only this part. Writes the new tensor's shape to
/// `inner`. Empty if the view reads an item twice.
[[nodiscard]] std::optional<View> compacted(const View& view, const TensorShape& shape, TensorShape& inner);

/// Atoms of the axis over all dimensions, in order.
[[nodiscard]] Dimension atoms_of(const View& view, int axis);
[[nodiscard]] bool has_axis(const Dimension& dimension, int axis);
/// Whether the dimension is exactly this axis, whole and in order.
[[nodiscard]] bool is_whole(const View& view, std::size_t dimension, int axis, const TensorShape& shape);
/// Whether every item of the tensor is visible exactly once, in any order.
[[nodiscard]] bool sees_all(const View& view, const TensorShape& shape);

}  // namespace ddl::onnx_import
