#pragma once

#include <array>
#include <cstdint>

#include "model_zoo/network/problem.hpp"

namespace ddl {

/// The window of a convolution or pooling, with the padding on both sides that the shapes require.
struct WindowGeometry {
  std::array<std::int64_t, 3> kernel{1, 1, 1}, stride{1, 1, 1}, dilation{1, 1, 1}, before{0, 0, 0}, after{0, 0, 0};
};
/// Computes the window of an operation. `large` is the shape that the windows cover. `small` has
/// one position per window: it is the output, or the input of a transposed convolution.
[[nodiscard]] WindowGeometry window_geometry(const Operation& operation, const TensorShape& large, const TensorShape& small);

}  // namespace ddl
