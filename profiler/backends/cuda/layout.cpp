#include "profiler/backends/cuda/layout.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <functional>
#include <numeric>
#include <utility>

namespace ddl::cuda {
namespace {

std::size_t item_size(Precision precision, bool bytes) { return bytes ? 1 : (is_mixed(precision) ? 2 : 4); }

template <class Item>
void store(std::byte* to, std::size_t i, Item item) {
  std::memcpy(to + i * sizeof item, &item, sizeof item);
}
template <class Item>
Item fetch(const std::byte* from, std::size_t i) {
  Item item;
  std::memcpy(&item, from + i * sizeof item, sizeof item);
  return item;
}

}  // namespace

std::int64_t Extents::items() const {
  return std::accumulate(sizes.begin(), sizes.end(), std::int64_t{1}, std::multiplies<>());
}

std::int64_t Extents::reach() const {
  std::int64_t last = 0;
  for (std::size_t d = 0; d < sizes.size(); ++d) last += (sizes[d] - 1) * strides[d];
  return last + 1;
}

Extents dense(std::vector<std::int64_t> sizes, ImageLayout layout) {
  std::vector<std::int64_t> strides(sizes.size(), 1);
  if (layout == ImageLayout::channels_first) {
    for (std::size_t d = sizes.size() - 1; d-- > 0;) strides[d] = strides[d + 1] * sizes[d + 1];
  } else {
    std::int64_t stride = sizes[1];
    for (std::size_t d = sizes.size(); d-- > 2;) {
      strides[d] = stride;
      stride *= sizes[d];
    }
    strides[0] = stride;
  }
  return {std::move(sizes), std::move(strides)};
}

std::vector<std::int64_t> window_sizes(const std::array<std::int64_t, 3>& sizes, int rank, std::int64_t otherwise) {
  std::vector<std::int64_t> result(static_cast<std::size_t>(std::max(0, 2 - rank)), otherwise);
  result.insert(result.end(), sizes.begin(), sizes.begin() + rank);
  return result;
}

Extents image(const TensorShape& shape, std::int64_t samples, ImageLayout layout) {
  std::vector<std::int64_t> sizes{samples, shape.channels};
  const std::vector<std::int64_t> extents = window_sizes(shape.extent, shape.rank, 1);
  sizes.insert(sizes.end(), extents.begin(), extents.end());
  return dense(std::move(sizes), layout);
}

Extents filters(std::int64_t count, std::int64_t channels, const std::array<std::int64_t, 3>& kernel, int rank,
                ImageLayout layout) {
  std::vector<std::int64_t> sizes{count, channels};
  const std::vector<std::int64_t> extents = window_sizes(kernel, rank, 1);
  sizes.insert(sizes.end(), extents.begin(), extents.end());
  return dense(std::move(sizes), layout);
}

std::array<std::int64_t, 3> rim_behind(const WindowGeometry& window, const TensorShape& large, const TensorShape& small) {
  std::array<std::int64_t, 3> behind{};
  for (std::size_t d = 0; d < static_cast<std::size_t>(large.rank); ++d) {
    const std::int64_t reach = window.dilation[d] * (window.kernel[d] - 1) + 1;
    const std::int64_t room = large.extent[d] + 2 * window.before[d] - reach;
    const bool alike = room >= 0 && room / window.stride[d] + 1 == small.extent[d];
    behind[d] = alike ? window.before[d] : std::max<std::int64_t>(0, window.after[d]);
  }
  return behind;
}

void exchange(std::span<const float> from, std::span<float> to, std::int64_t channels, std::int64_t positions) {
  const auto rows = static_cast<std::size_t>(channels);
  const auto columns = static_cast<std::size_t>(positions);
  constexpr std::size_t tile = 32;  // size of a block in both dimensions, so that both sides stay in the cache
  for (std::size_t start = 0; start < from.size(); start += rows * columns) {
    for (std::size_t row = 0; row < rows; row += tile) {
      for (std::size_t column = 0; column < columns; column += tile) {
        for (std::size_t r = row; r < std::min(rows, row + tile); ++r) {
          for (std::size_t c = column; c < std::min(columns, column + tile); ++c) {
            to[start + c * rows + r] = from[start + r * columns + c];
          }
        }
      }
    }
  }
}

std::uint16_t to_bf16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7fffffffU) > 0x7f800000U) return static_cast<std::uint16_t>((bits >> 16U) | 0x40U);  // NaN
  return static_cast<std::uint16_t>((bits + 0x7fffU + ((bits >> 16U) & 1U)) >> 16U);
}

float from_bf16(std::uint16_t value) { return std::bit_cast<float>(static_cast<std::uint32_t>(value) << 16U); }

std::uint16_t to_fp16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = (bits >> 16U) & 0x8000U;
  const std::uint32_t rest = bits & 0x7fffffffU;
  std::uint32_t half = 0;
  if (rest > 0x7f800000U) {
    half = 0x7e00U;                  // NaN
  } else if (rest >= 0x477ff000U) {  // from 65520 on, half-way between the largest number and the next
    half = 0x7c00U;                  // infinite
  } else if (rest >= 0x38800000U) {  // from 2⁻¹⁴ on
    const std::uint32_t odd = (rest >> 13U) & 1U;
    half = (rest - 0x38000000U + 0xfffU + odd) >> 13U;
  } else if (rest >= 0x33000000U) {  // from 2⁻²⁵ on: the lowest bit is 2⁻²⁴
    const std::uint32_t shift = 126U - (rest >> 23U);
    const std::uint32_t digits = (rest & 0x7fffffU) | 0x800000U;
    const std::uint32_t odd = (digits >> shift) & 1U;
    half = (digits + (1U << (shift - 1U)) - 1U + odd) >> shift;
  }
  return static_cast<std::uint16_t>(sign | half);
}

float from_fp16(std::uint16_t value) {
  const std::uint32_t sign = (value & 0x8000U) << 16U;
  std::uint32_t exponent = (value >> 10U) & 0x1fU;
  std::uint32_t digits = value & 0x3ffU;
  if (exponent == 0x1fU) return std::bit_cast<float>(sign | 0x7f800000U | (digits << 13U));
  if (exponent == 0) {
    const float magnitude = static_cast<float>(digits) * 0x1p-24F;
    return sign != 0 ? -magnitude : magnitude;
  }
  return std::bit_cast<float>(sign | ((exponent + 112U) << 23U) | (digits << 13U));
}

std::size_t buffer_bytes(std::int64_t items, Precision precision, bool bytes) {
  constexpr std::size_t at_once = 16;
  const std::size_t size = static_cast<std::size_t>(items) * item_size(precision, bytes);
  return (size + at_once - 1) / at_once * at_once;
}

std::vector<std::byte> encode(std::span<const float> values, Precision precision, bool bytes) {
  std::vector<std::byte> stored(values.size() * item_size(precision, bytes));
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (bytes) {
      store(stored.data(), i, static_cast<std::uint8_t>(values[i] != 0));
    } else if (precision == Precision::fp16) {
      store(stored.data(), i, to_fp16(values[i]));
    } else if (precision == Precision::bf16) {
      store(stored.data(), i, to_bf16(values[i]));
    } else {
      store(stored.data(), i, values[i]);
    }
  }
  return stored;
}

void decode(std::span<const std::byte> stored, Precision precision, bool bytes, std::span<float> values) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (bytes) {
      values[i] = static_cast<float>(fetch<std::uint8_t>(stored.data(), i));
    } else if (precision == Precision::fp16) {
      values[i] = from_fp16(fetch<std::uint16_t>(stored.data(), i));
    } else if (precision == Precision::bf16) {
      values[i] = from_bf16(fetch<std::uint16_t>(stored.data(), i));
    } else {
      values[i] = fetch<float>(stored.data(), i);
    }
  }
}

}  // namespace ddl::cuda
