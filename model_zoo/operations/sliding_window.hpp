#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "model_zoo/operations/attributes.hpp"
#include "model_zoo/operations/operation.hpp"

namespace ddl {

/// The window that a convolution or a pooling moves over its input: size, step and rim, along each spatial dimension.
struct SlidingWindow {
  int rank = 0;
  std::array<std::int64_t, 3> kernel{1, 1, 1}, stride{1, 1, 1}, dilation{1, 1, 1};
  std::array<std::int64_t, 3> padding{0, 0, 0};  ///< before the first position
  bool same = false;  ///< as much padding as makes the output ⌈input / stride⌉ long, the odd one behind
  bool ceil = false;  ///< a last window may hang over the end

  /// Reads `kernel`, `stride` (or `default_stride`, or the kernel's where that is 0), `padding` and `dilation`.
  [[nodiscard]] static SlidingWindow read(const Attributes& attributes, std::int64_t default_stride);

  /// Positions under the window.
  [[nodiscard]] std::int64_t volume() const { return kernel[0] * kernel[1] * kernel[2]; }
  /// Three by three positions side by side, one step at a time.
  [[nodiscard]] bool is_square3() const {
    return rank == 2 && kernel == std::array<std::int64_t, 3>{3, 3, 1} && stride == std::array<std::int64_t, 3>{1, 1, 1} &&
           dilation == std::array<std::int64_t, 3>{1, 1, 1};
  }
  [[nodiscard]] bool is_strided() const { return stride != std::array<std::int64_t, 3>{1, 1, 1}; }
  /// A single position, and each in turn.
  [[nodiscard]] bool is_of_one() const { return volume() == 1 && !is_strided(); }
  /// Over three dimensions, and not position by position.
  [[nodiscard]] bool is_of_volume() const { return rank == 3 && !is_of_one(); }
  /// How far the window reaches along one dimension.
  [[nodiscard]] std::int64_t reach(std::size_t dimension) const { return dilation[dimension] * (kernel[dimension] - 1) + 1; }
  /// `input` with its extents replaced by the number of places the window has there; an Error when it has none.
  [[nodiscard]] TensorShape slide(const TensorShape& input) const;
  [[nodiscard]] Operation::Window window() const;
  /// The window over a tile that makes `output` of it. Where `input` alone does not, the rim is gone and `input` grows to
  /// what the window reads of the neighbours' tiles.
  [[nodiscard]] SlidingWindow over_tile(TensorShape& input, const TensorShape& output) const;
  /// `kernel=3x3 stride=2 padding=1`; a stride of 1 is left out where it is what `read` takes for granted.
  [[nodiscard]] AttributeValues values(std::int64_t default_stride) const;
  /// `kernel=3x3 stride=2x2 dilation=1x1`: what a tile's window has in common with the whole's, whose rim it need not have.
  [[nodiscard]] AttributeValues lasting_values() const;
};

}  // namespace ddl
