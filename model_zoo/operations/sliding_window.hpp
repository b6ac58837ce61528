#pragma once

#include <array>
#include <cstdint>

#include "model_zoo/operations/attributes.hpp"
#include "model_zoo/operations/operation.hpp"

namespace ddl {

/// The window of a convolution or a pooling: size, stride and padding along each spatial dimension.
struct SlidingWindow {
  int rank = 0;
  std::array<std::int64_t, 3> kernel{1, 1, 1}, stride{1, 1, 1}, dilation{1, 1, 1};
  std::array<std::int64_t, 3> padding{0, 0, 0};  ///< padding before the first position
  bool same = false;  ///< whether padding gives ⌈input / stride⌉ outputs; an odd remaining position is padded at the end
  bool ceil = false;  ///< whether the last window may extend beyond the end of the input

  /// Reads `kernel`, `stride`, `padding` and `dilation`. A missing stride is `default_stride`, or
  /// the kernel's size if that is 0.
  [[nodiscard]] static SlidingWindow read(const Attributes& attributes, std::int64_t default_stride);

  /// Returns the number of positions in the window.
  [[nodiscard]] std::int64_t volume() const { return kernel[0] * kernel[1] * kernel[2]; }
  /// Returns whether the window is dense, with three by three positions and stride 1.
  [[nodiscard]] bool is_square3() const {
    return rank == 2 && kernel == std::array<std::int64_t, 3>{3, 3, 1} && stride == std::array<std::int64_t, 3>{1, 1, 1} &&
           dilation == std::array<std::int64_t, 3>{1, 1, 1};
  }
  [[nodiscard]] bool is_strided() const { return stride != std::array<std::int64_t, 3>{1, 1, 1}; }
  /// Returns whether the window has a single position and stride 1.
  [[nodiscard]] bool is_of_one() const { return volume() == 1 && !is_strided(); }
  /// Returns whether the window has three spatial dimensions and more than one position.
  [[nodiscard]] bool is_of_volume() const { return rank == 3 && !is_of_one(); }
  /// Returns the extent of the window along one dimension, including dilation.
  [[nodiscard]] std::int64_t reach(std::size_t dimension) const { return dilation[dimension] * (kernel[dimension] - 1) + 1; }
  /// Returns `input` with its extents replaced by the numbers of positions of the window. Throws
  /// Error if the window has no position.
  [[nodiscard]] TensorShape slide(const TensorShape& input) const;
  [[nodiscard]] Operation::Window window() const;
  /// Returns the window over the tile `input` that produces the tile `output`. If `input` is too
  /// small for `output`, padding is removed, and `input` grows by the halo.
  [[nodiscard]] SlidingWindow over_tile(TensorShape& input, const TensorShape& output) const;
  /// Returns the attributes `kernel=3x3 stride=2 padding=1`; the stride is omitted if it is the default of `read`.
  [[nodiscard]] AttributeValues values(std::int64_t default_stride) const;
  /// Returns the attributes `kernel=3x3 stride=2x2 dilation=1x1`. The window over a tile shares
  /// these with the window over the whole tensor; only padding may differ.
  [[nodiscard]] AttributeValues lasting_values() const;
};

}  // namespace ddl
