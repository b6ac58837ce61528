#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "model_zoo/values/tensor_shape.hpp"

namespace ddl::onnx_import {

/// The axes of a tensor of the network. A dimension of a graph's tensor iterates over one axis.
/// Axes from `first_position` on are the spatial extents, or the tokens of a sequence.
enum Axis : int { repeated = -2, batch = -1, channels = 0, first_position = 1 };

/// A part of an axis. The coordinate along the axis is the sum of stride · coordinate over the
/// axis's atoms, plus the offset of the view. For example, 12 heads of 64 channels are two atoms of
/// the axis `channels`: {12, stride 64} and {64, stride 1}.
struct Atom {
  int axis = channels;
  std::int64_t size = 1;
  std::int64_t stride = 1;
  friend bool operator==(const Atom&, const Atom&) = default;
};
/// The maximum number of spatial extents of a tensor.
inline constexpr int most_positions = 3;
/// One dimension, as the product of its atoms, of which the first is the slowest. A dimension of size 1 has no atoms.
using Dimension = std::vector<Atom>;

/// Maps a tensor of the graph to a tensor of the network. Reshapes, transposes and slices change the view and move no data.
struct View {
  int tensor = -1;  ///< index of a layer; -1 is the model's input
  std::vector<Dimension> dimensions;
  std::array<std::int64_t, 4> offset{0, 0, 0, 0};  ///< offset of each axis from `channels` on
};
/// Returns whether two views read the same elements of the same tensor in the same order.
[[nodiscard]] inline bool same_view(const View& a, const View& b) {
  return a.tensor == b.tensor && a.dimensions == b.dimensions && a.offset == b.offset;
}

[[nodiscard]] std::int64_t size_of(const Dimension& dimension);
[[nodiscard]] std::vector<std::int64_t> sizes_of(const View& view);
/// Returns the whole axis of a tensor as a dimension; empty for an axis of one element.
[[nodiscard]] Dimension whole(int axis, std::int64_t size);
/// Merges adjacent atoms, and drops atoms of one element.
void tidy(Dimension& dimension);

/// Returns the view after a reshape; empty if a dimension would split an atom that cannot be divided in this way.
[[nodiscard]] std::optional<View> reshaped(const View& view, std::span<const std::int64_t> sizes);
[[nodiscard]] View transposed(const View& view, std::span<const std::int64_t> order);
/// Returns a view of `count` positions of one dimension from `start`, `step` apart; empty if no
/// view can describe these positions.
[[nodiscard]] std::optional<View> sliced(const View& view, std::size_t dimension, std::int64_t start, std::int64_t count,
                                         std::int64_t step = 1);

/// Returns a view of a tensor with the dimensions samples, channels and positions, as in channels-first images.
[[nodiscard]] View image_view(int tensor, const Dimension& samples, const TensorShape& shape);
/// Returns the shape of an image with these channels and positions.
[[nodiscard]] TensorShape image_shape(std::span<const std::int64_t> sizes);
/// Returns a view of a new tensor with only the part of the tensor that `view` reads. Writes the
/// new tensor's shape to `inner`. Empty if the view reads an element twice.
[[nodiscard]] std::optional<View> compacted(const View& view, const TensorShape& shape, TensorShape& inner);

/// Returns the atoms of the axis over all dimensions, in order.
[[nodiscard]] Dimension atoms_of(const View& view, int axis);
[[nodiscard]] bool has_axis(const Dimension& dimension, int axis);
/// Returns whether the dimension is the whole axis, in order, and no other axis.
[[nodiscard]] bool is_whole(const View& view, std::size_t dimension, int axis, const TensorShape& shape);
/// Returns whether the view contains every element of the tensor exactly once, in any order.
[[nodiscard]] bool sees_all(const View& view, const TensorShape& shape);

}  // namespace ddl::onnx_import
