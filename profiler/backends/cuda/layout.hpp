#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "model_zoo/network/problem.hpp"
#include "profiler/backends/cuda/backend.hpp"
#include "profiler/backends/window_geometry.hpp"

// Arithmetic of shapes and number formats, independent of any device.
namespace ddl::cuda {

/// Sizes and strides, in elements, in the order of the libraries: samples (filters), channels, then at least two extents.
struct Extents {
  std::vector<std::int64_t> sizes, strides;
  [[nodiscard]] std::int64_t items() const;
  /// The number of elements from the first to the last element in memory, including gaps.
  [[nodiscard]] std::int64_t reach() const;
  friend bool operator==(const Extents&, const Extents&) = default;
};
/// The extents of a dense tensor with these `sizes`: in the given order, or with the second dimension innermost.
[[nodiscard]] Extents dense(std::vector<std::int64_t> sizes, ImageLayout layout = ImageLayout::channels_first);
/// The extents of an image. Images with fewer than two extents get extents of one in front: 3 × 9 is 3 × 1 × 9.
[[nodiscard]] Extents image(const TensorShape& shape, std::int64_t samples, ImageLayout layout);
/// Filters of a convolution over `rank` extents.
[[nodiscard]] Extents filters(std::int64_t count, std::int64_t channels, const std::array<std::int64_t, 3>& kernel, int rank,
                              ImageLayout layout);
/// The sizes of a window in its `rank` used dimensions. If there are fewer than two, `otherwise` is prepended.
[[nodiscard]] std::vector<std::int64_t> window_sizes(const std::array<std::int64_t, 3>& sizes, int rank,
                                                     std::int64_t otherwise);

/// The padding at the end of each dimension. It equals the padding at the start if the window's
/// positions fit with equal padding, which the libraries prefer. Otherwise it is the part that the
/// window's positions cover after the end, and never negative.
[[nodiscard]] std::array<std::int64_t, 3> rim_behind(const WindowGeometry& window, const TensorShape& large,
                                                     const TensorShape& small);

/// Transposes [outer, channels, positions] to [outer, positions, channels]. `from` and `to` must
/// have the same number of elements, a multiple of channels · positions.
void exchange(std::span<const float> from, std::span<float> to, std::int64_t channels, std::int64_t positions);

/// Rounds a number to fp16: to the nearest value, ties to even. Numbers that are too large become infinite.
[[nodiscard]] std::uint16_t to_fp16(float value);
[[nodiscard]] float from_fp16(std::uint16_t value);
[[nodiscard]] std::uint16_t to_bf16(float value);
[[nodiscard]] float from_bf16(std::uint16_t value);

/// Bytes of this many elements, rounded up to a multiple of the vector width of kernels.
[[nodiscard]] std::size_t buffer_bytes(std::int64_t items, Precision precision, bool bytes);
/// encode() converts elements to the bytes of a buffer; decode() converts them back.
[[nodiscard]] std::vector<std::byte> encode(std::span<const float> values, Precision precision, bool bytes);
void decode(std::span<const std::byte> stored, Precision precision, bool bytes, std::span<float> values);

}  // namespace ddl::cuda
