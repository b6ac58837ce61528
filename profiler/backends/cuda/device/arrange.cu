#include "profiler/backends/cuda/device/image.cuh"

// Kernels that move elements: permutations of dimensions, and images of other sizes.
namespace ddl::cuda::device {
namespace {

/// A copy of a tensor with permuted dimensions. Indices have 32 bits if possible, because divisions
/// of indices take most of the time.
template <class T, class Index>
struct Rearrange {
  Order order;
  const T* input;
  T* output;
  template <int width>
  __device__ void run(std::int64_t item) const {
    auto rest = static_cast<Index>(item);
    std::int64_t from = order.from_start;
    std::int64_t to = order.to_start;
    for (int d = order.dimensions - 1; d >= 0; --d) {
      const auto size = static_cast<Index>(order.size[d]);
      const Index index = rest % size;
      rest /= size;
      from += static_cast<std::int64_t>(index) * order.from[d];
      to += static_cast<std::int64_t>(index) * order.to[d];
    }
    store<width>(output, to, load<width>(input, from));
  }
};

/// The two input positions between which the center of an output position lies, along one dimension.
struct Middle {
  std::int64_t low, high;
  float share;  ///< weight of `high`; `low` has the weight 1 - share
};
__device__ inline Middle middle_of(const Resizing& r, int d, std::int64_t position) {
  const float factor = static_cast<float>(r.in[d]) / static_cast<float>(r.out[d]);
  const float middle = (static_cast<float>(position) + 0.5F) * factor - 0.5F;
  const float below = floorf(r.linear ? middle : middle + 0.5F);
  const auto low = static_cast<std::int64_t>(below);
  const std::int64_t last = r.in[d] - 1;
  const auto inside = [last](std::int64_t place) { return place < 0 ? 0 : (place > last ? last : place); };
  // At the edge, `low` and `high` are equal, so their weights do not matter.
  if (low < 0 || low >= last) return {inside(low), inside(low), 0.0F};
  return {low, low + 1, r.linear ? middle - below : 0.0F};
}
/// The weight with which a position of the small image contributes to a position of the large image.
__device__ inline float weight_of(const Resizing& r, int d, std::int64_t small, std::int64_t large) {
  const Middle middle = middle_of(r, d, large);
  return (middle.low == small ? 1 - middle.share : 0.0F) + (middle.share > 0 && middle.high == small ? middle.share : 0.0F);
}

template <class T, class Index>
struct Resize {
  Resizing r;
  const T* input;
  T* output;
  template <int width>
  __device__ void run(std::int64_t item) const {
    const Place place = place_of<Index>(r.input, r.out, item);
    const Middle a = middle_of(r, 0, place.position[0]);
    const Middle b = middle_of(r, 1, place.position[1]);
    const Middle c = middle_of(r, 2, place.position[2]);
    Pack<float, width> sums{};
    for (int corner = 0; corner < 8; ++corner) {
      const float weight = ((corner & 4) != 0 ? a.share : 1 - a.share) * ((corner & 2) != 0 ? b.share : 1 - b.share) *
                           ((corner & 1) != 0 ? c.share : 1 - c.share);
      if (weight == 0) continue;
      const std::int64_t i = (corner & 4) != 0 ? a.high : a.low;
      const std::int64_t j = (corner & 2) != 0 ? b.high : b.low;
      const std::int64_t k = (corner & 1) != 0 ? c.high : c.low;
      const Pack<T, width> pack =
          load<width>(input, item_of(r.input, place.sample, place.channel, (i * r.in[1] + j) * r.in[2] + k));
      for (int n = 0; n < width; ++n) sums.at[n] += weight * to_float(pack.at[n]);
    }
    Pack<T, width> pack;
    for (int n = 0; n < width; ++n) pack.at[n] = from_float<T>(sums.at[n]);
    store<width>(output, item, pack);
  }
};

struct Reach {
  std::int64_t start, end;
};
/// The range of output positions, along one dimension, that contains all readers of a given input position.
__device__ inline Reach readers_of(const Resizing& r, int d, std::int64_t position) {
  const float factor = static_cast<float>(r.out[d]) / static_cast<float>(r.in[d]);
  const auto place = static_cast<float>(position);
  auto start = static_cast<std::int64_t>(floorf((place - 0.5F) * factor - 0.5F)) - 1;
  auto end = static_cast<std::int64_t>(ceilf((place + 1.5F) * factor - 0.5F)) + 2;
  if (position == 0 || start < 0) start = 0;
  if (position == r.in[d] - 1 || end > r.out[d]) end = r.out[d];
  return {start, end};
}

/// The gradient of a resized image. Each element gathers its contributions, so no atomic additions are needed.
template <class T, class Index>
struct ResizeBackward {
  Resizing r;
  const T* gradient;
  T* result;
  template <int width>
  __device__ void run(std::int64_t item) const {
    const Place place = place_of<Index>(r.input, r.in, item);
    const Reach a = readers_of(r, 0, place.position[0]);
    const Reach b = readers_of(r, 1, place.position[1]);
    const Reach c = readers_of(r, 2, place.position[2]);
    Image large = r.input;
    large.positions = r.out[0] * r.out[1] * r.out[2];
    Pack<float, width> sums{};
    for (std::int64_t i = a.start; i < a.end; ++i) {
      const float first = weight_of(r, 0, place.position[0], i);
      if (first == 0) continue;
      for (std::int64_t j = b.start; j < b.end; ++j) {
        const float second = first * weight_of(r, 1, place.position[1], j);
        if (second == 0) continue;
        for (std::int64_t k = c.start; k < c.end; ++k) {
          const float weight = second * weight_of(r, 2, place.position[2], k);
          if (weight == 0) continue;
          const Pack<T, width> pack =
              load<width>(gradient, item_of(large, place.sample, place.channel, (i * r.out[1] + j) * r.out[2] + k));
          for (int n = 0; n < width; ++n) sums.at[n] += weight * to_float(pack.at[n]);
        }
      }
    }
    Pack<T, width> pack;
    for (int n = 0; n < width; ++n) pack.at[n] = from_float<T>(sums.at[n]);
    store<width>(result, item, pack);
  }
};

/// Launches `work`. If channels are innermost, several channels of a position are processed at once.
template <int width, class Work>
cudaError_t map_channels(cudaStream_t stream, Work work, const Image& image, std::int64_t items) {
  return image.channels_innermost ? map_rows<width>(stream, work, items, image.channels) : map<1>(stream, work, items);
}

}  // namespace

cudaError_t rearrange(Launch launch, const Order& order, const void* input, void* output) {
  return dispatch(launch.number, [&](auto number) {
    using T = decltype(number);
    constexpr int width = whole_width<T>();
    std::int64_t items = 1;
    bool whole = order.dimensions > 0 && order.from_start % width == 0 && order.to_start % width == 0 &&
                 is_aligned(input, sizeof(T) * width) && is_aligned(output, sizeof(T) * width);
    for (int d = 0; d < order.dimensions; ++d) {
      items *= order.size[d];
      if (d + 1 < order.dimensions) {
        whole = whole && order.from[d] % width == 0 && order.to[d] % width == 0;
      } else {
        whole = whole && order.from[d] == 1 && order.to[d] == 1 && order.size[d] % width == 0;
      }
    }
    const auto start = [&](auto work) {
      return whole ? map<width>(launch.stream, work, items) : map<1>(launch.stream, work, items);
    };
    return items <= short_most ? start(Rearrange<T, std::uint32_t>{order, in<T>(input), out<T>(output)})
                               : start(Rearrange<T, std::int64_t>{order, in<T>(input), out<T>(output)});
  });
}

cudaError_t resize(Launch launch, const Resizing& resizing, const void* input, void* output) {
  return dispatch(launch.number, [&](auto number) {
    using T = decltype(number);
    constexpr int width = whole_width<T>();
    const Image& image = resizing.input;
    const std::int64_t items = image.samples * image.channels * resizing.out[0] * resizing.out[1] * resizing.out[2];
    return items <= short_most
               ? map_channels<width>(launch.stream, Resize<T, std::uint32_t>{resizing, in<T>(input), out<T>(output)}, image,
                                     items)
               : map_channels<width>(launch.stream, Resize<T, std::int64_t>{resizing, in<T>(input), out<T>(output)}, image,
                                     items);
  });
}

cudaError_t resize_backward(Launch launch, const Resizing& resizing, const void* output_gradient, void* input_gradient) {
  return dispatch(launch.number, [&](auto number) {
    using T = decltype(number);
    constexpr int width = whole_width<T>();
    const Image& image = resizing.input;
    const std::int64_t items = image.items();
    const T* from = in<T>(output_gradient);
    T* to = out<T>(input_gradient);
    return items <= short_most
               ? map_channels<width>(launch.stream, ResizeBackward<T, std::uint32_t>{resizing, from, to}, image, items)
               : map_channels<width>(launch.stream, ResizeBackward<T, std::int64_t>{resizing, from, to}, image, items);
  });
}

}  // namespace ddl::cuda::device
