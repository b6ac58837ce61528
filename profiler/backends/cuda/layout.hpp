#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "model_zoo/network/problem.hpp"
#include "profiler/backends/cuda/backend.hpp"
#include "profiler/backends/window_geometry.hpp"

// Arithmetic of shapes and number formats: nothing here needs a device.
namespace ddl::cuda {

/// Sizes and strides, in items, as the libraries take them: samples (filters), channels, then at least two extents.
struct Extents {
  std::vector<std::int64_t> sizes, strides;
  [[nodiscard]] std::int64_t items() const;
  /// Items from the first to the last in memory, others' between them included.
  [[nodiscard]] std::int64_t reach() const;
  friend bool operator==(const Extents&, const Extents&) = default;
};
/// `sizes` lying dense in memory, in the order in which they are given or with the second innermost.
[[nodiscard]] Extents dense(std::vector<std::int64_t> sizes, ImageLayout layout = ImageLayout::channels_first);
/// An image, its extents filled up with ones in front to two: 3 × 9 is 3 × 1 × 9.
[[nodiscard]] Extents image(const TensorShape& shape, std::int64_t samples, ImageLayout layout);
/// Filters of a convolution over `rank` extents.
[[nodiscard]] Extents filters(std::int64_t count, std::int64_t channels, const std::array<std::int64_t, 3>& kernel, int rank,
                              ImageLayout layout);
/// Of a window's three sizes those of `rank` dimensions, filled up in front to two with `otherwise`.
[[nodiscard]] std::vector<std::int64_t> window_sizes(const std::array<std::int64_t, 3>& sizes, int rank,
                                                     std::int64_t otherwise);

/// The rim behind: that before where the window's places fit with both alike, as the libraries like it best; else as much as
/// the places cover, never less than nothing.
[[nodiscard]] std::array<std::int64_t, 3> rim_behind(const WindowGeometry& window, const TensorShape& large,
                                                     const TensorShape& small);

/// Turns [outer, channels, positions] into [outer, positions, channels]. Sizes are equal and multiples of both.
void exchange(std::span<const float> from, std::span<float> to, std::int64_t channels, std::int64_t positions);

/// To the nearest, ties to even; what is too large becomes infinite.
[[nodiscard]] std::uint16_t to_fp16(float value);
[[nodiscard]] float from_fp16(std::uint16_t value);
[[nodiscard]] std::uint16_t to_bf16(float value);
[[nodiscard]] float from_bf16(std::uint16_t value);

/// Bytes of so many items, a multiple of what kernels read at once.
[[nodiscard]] std::size_t buffer_bytes(std::int64_t items, Precision precision, bool bytes);
/// Items as they lie in a buffer, and back.
[[nodiscard]] std::vector<std::byte> encode(std::span<const float> values, Precision precision, bool bytes);
void decode(std::span<const std::byte> stored, Precision precision, bool bytes, std::span<float> values);

}  // namespace ddl::cuda
