#pragma once

#include "profiler/backends/cuda/device/grid.cuh"

// Indexing of images, independent of which dimension is innermost.
namespace ddl::cuda::device {

/// The number of threads that share the sum of one channel.
constexpr unsigned lanes = 8;

__device__ inline std::int64_t item_of(const Image& image, std::int64_t sample, std::int64_t channel,
                                       std::int64_t position) {
  return image.channels_innermost ? (sample * image.positions + position) * image.channels + channel
                                  : (sample * image.channels + channel) * image.positions + position;
}

/// The index of an element's factor in a [samples, channels] matrix.
__device__ inline std::int64_t factor_of(const Image& image, std::int64_t item) {
  return image.channels_innermost ? item / (image.positions * image.channels) * image.channels + item % image.channels
                                  : item / image.positions;
}

/// The number of consecutive elements that have the same factor. If channels are innermost: the number
/// of consecutive elements with one factor each.
inline std::int64_t length_of(const Image& image) { return image.channels_innermost ? image.channels : image.positions; }

/// The scale and the shift of a channel in a norm.
__device__ inline float scale_of(const Trained& trained, std::int64_t channel) {
  return trained.scales == nullptr ? 1.0F : trained.scales[channel];
}
__device__ inline float shift_of(const Trained& trained, std::int64_t channel) {
  return trained.shifts == nullptr ? 0.0F : trained.shifts[channel];
}

struct Place {
  std::int64_t sample, channel, position[3];
};
/// The position of an element in an image with these extents. Indices and their divisions have the
/// type `Index`. Divisions in 32 bits are several times faster than in 64.
template <class Index = std::int64_t>
__device__ inline Place place_of(const Image& image, const std::int64_t extent[3], std::int64_t item) {
  Place place{};
  const auto number = static_cast<Index>(item);
  const auto channels = static_cast<Index>(image.channels);
  const auto positions = static_cast<Index>(extent[0] * extent[1] * extent[2]);
  Index position = 0;
  if (image.channels_innermost) {
    place.channel = number % channels;
    position = number / channels % positions;
  } else {
    position = number % positions;
    place.channel = number / positions % channels;
  }
  place.sample = number / (positions * channels);
  place.position[2] = position % static_cast<Index>(extent[2]);
  position /= static_cast<Index>(extent[2]);
  place.position[1] = position % static_cast<Index>(extent[1]);
  place.position[0] = position / static_cast<Index>(extent[1]);
  return place;
}

inline unsigned warps(std::int64_t channels) { return static_cast<unsigned>((channels + warp - 1) / warp); }

}  // namespace ddl::cuda::device
