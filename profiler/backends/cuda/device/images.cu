#include "profiler/backends/cuda/device/image.cuh"

namespace ddl::cuda::device {
namespace {

template <class T>
struct ScaleChannels {
  Image image;
  const T* first;
  const T* second;
  T* output;
  template <int width>
  __device__ void run(std::int64_t item) const {
    Pack<T, width> pack = load<width>(first, item);
    const std::int64_t factor = factor_of(image, item);
    for (int i = 0; i < width; ++i) {
      const float by = to_float(second[factor + (image.channels_innermost ? i : 0)]);
      pack.at[i] = from_float<T>(to_float(pack.at[i]) * by);
    }
    store<width>(output, item, pack);
  }
};

/// The gradients of scale_channels(). `lanes` threads share the positions of a channel of a sample. A block has 32 channels.
template <class T>
__global__ void scale_backward_kernel(Image image, const T* first, const T* second, const T* gradient, T* first_gradient,
                                      T* second_gradient) {
  __shared__ float sums[lanes][warp];
  const std::int64_t channel = static_cast<std::int64_t>(blockIdx.x) * warp + threadIdx.x;
  const std::int64_t sample = blockIdx.y;
  float sum = 0;
  if (channel < image.channels) {
    const float by = to_float(second[sample * image.channels + channel]);
    for (std::int64_t position = threadIdx.y; position < image.positions; position += lanes) {
      const std::int64_t item = item_of(image, sample, channel, position);
      const float slope = to_float(gradient[item]);
      first_gradient[item] = from_float<T>(slope * by);
      sum += slope * to_float(first[item]);
    }
  }
  sums[threadIdx.y][threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.y != 0 || channel >= image.channels) return;
  for (unsigned lane = 1; lane < lanes; ++lane) sum += sums[lane][threadIdx.x];
  second_gradient[sample * image.channels + channel] = from_float<T>(sum);
}

/// The gradients of scale_channels() for contiguous positions, with one warp per channel of a sample.
template <class T>
__global__ void scale_backward_by_rows_kernel(Image image, const T* first, const T* second, const T* gradient,
                                              T* first_gradient, T* second_gradient) {
  const std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * lanes + threadIdx.y;
  if (row >= image.samples * image.channels) return;
  const float by = to_float(second[row]);
  float sum = 0;
  for (std::int64_t item = row * image.positions + threadIdx.x; item < (row + 1) * image.positions; item += warp) {
    const float slope = to_float(gradient[item]);
    first_gradient[item] = from_float<T>(slope * by);
    sum += slope * to_float(first[item]);
  }
  sum = reduce<Sum, static_cast<int>(warp)>(sum);
  if (threadIdx.x == 0) second_gradient[row] = from_float<T>(sum);
}

template <class T>
struct AddBias {
  Image image;
  const T* bias;
  T* output;
  template <int width>
  __device__ void run(std::int64_t item) const {
    Pack<T, width> pack = load<width>(output, item);
    const std::int64_t channel = image.channels_innermost ? item % image.channels : item / image.positions % image.channels;
    for (int i = 0; i < width; ++i) {
      const float by = to_float(bias[channel + (image.channels_innermost ? i : 0)]);
      pack.at[i] = from_float<T>(to_float(pack.at[i]) + by);
    }
    store<width>(output, item, pack);
  }
};

/// Sums 32 innermost channels over part blockIdx.y of the rows.
template <class T>
__global__ void column_sums_kernel(const T* input, std::int64_t rows, std::int64_t channels, float* partial) {
  __shared__ float sums[lanes][warp];
  const std::int64_t channel = static_cast<std::int64_t>(blockIdx.x) * warp + threadIdx.x;
  float sum = 0;
  if (channel < channels) {
    for (std::int64_t row = static_cast<std::int64_t>(blockIdx.y) * lanes + threadIdx.y; row < rows;
         row += static_cast<std::int64_t>(gridDim.y) * lanes) {
      sum += to_float(input[row * channels + channel]);
    }
  }
  sums[threadIdx.y][threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.y != 0 || channel >= channels) return;
  for (unsigned lane = 1; lane < lanes; ++lane) sum += sums[lane][threadIdx.x];
  partial[blockIdx.y * channels + channel] = sum;
}

/// Sums one channel with contiguous positions over part blockIdx.y of the elements.
template <class T>
__global__ void row_sums_kernel(const T* input, Image image, float* partial) {
  const std::int64_t channel = blockIdx.x;
  float sum = 0;
  for (std::int64_t sample = blockIdx.y; sample < image.samples; sample += gridDim.y) {
    const T* from = input + (sample * image.channels + channel) * image.positions;
    for (std::int64_t position = threadIdx.x; position < image.positions; position += block) sum += to_float(from[position]);
  }
  sum = reduce<Sum, block>(sum);
  if (threadIdx.x == 0) partial[blockIdx.y * image.channels + channel] = sum;
}

template <class T>
struct AddParts {
  const float* partial;
  T* sums;
  std::int64_t parts, channels;
  template <int width>
  __device__ void run(std::int64_t channel) const {
    float sum = 0;
    for (std::int64_t part = 0; part < parts; ++part) sum += partial[part * channels + channel];
    sums[channel] = from_float<T>(sum);
  }
};

struct Range {
  std::int64_t start, end;
};
/// The range of input positions that a window covers, along one dimension.
__device__ inline Range covered(const Windows& w, int d, std::int64_t place) {
  if (w.adaptive) return {place * w.in[d] / w.out[d], ((place + 1) * w.in[d] + w.out[d] - 1) / w.out[d]};
  const std::int64_t start = place * w.stride[d] - w.before[d];
  const std::int64_t end = start + w.kernel[d];
  return {start > 0 ? start : 0, end < w.in[d] ? end : w.in[d]};
}
/// The range of windows, along one dimension, that contains all windows over a given position.
__device__ inline Range covering(const Windows& w, int d, std::int64_t position) {
  if (w.adaptive) return {position * w.out[d] / w.in[d], ((position + 1) * w.out[d] + w.in[d] - 1) / w.in[d]};
  const std::int64_t first = position + w.before[d] - w.kernel[d] + 1;
  const std::int64_t start = first > 0 ? (first + w.stride[d] - 1) / w.stride[d] : 0;
  const std::int64_t end = (position + w.before[d]) / w.stride[d] + 1;
  return {start, end < w.out[d] ? end : w.out[d]};
}
__device__ inline std::int64_t length(const Range& range) { return range.end > range.start ? range.end - range.start : 0; }

/// The divisor of an average pooling: the number of elements of the window, with or without padding.
__device__ inline float divisor_of(const Windows& w, const Range& a, const Range& b, const Range& c) {
  if (w.counts_rim) return static_cast<float>(w.kernel[0] * w.kernel[1] * w.kernel[2]);
  return static_cast<float>(length(a) * length(b) * length(c));
}

template <class T>
struct Pool {
  Windows w;
  const T* input;
  std::int32_t* winners;
  T* output;
  template <int width>
  __device__ void run(std::int64_t item) const {
    const Place place = place_of(w.input, w.out, item);
    const Range a = covered(w, 0, place.position[0]);
    const Range b = covered(w, 1, place.position[1]);
    const Range c = covered(w, 2, place.position[2]);
    float largest = -INFINITY;
    float sum = 0;
    std::int64_t winner = (a.start * w.in[1] + b.start) * w.in[2] + c.start;
    for (std::int64_t i = a.start; i < a.end; ++i) {
      for (std::int64_t j = b.start; j < b.end; ++j) {
        for (std::int64_t k = c.start; k < c.end; ++k) {
          const std::int64_t position = (i * w.in[1] + j) * w.in[2] + k;
          const float value = to_float(input[item_of(w.input, place.sample, place.channel, position)]);
          sum += value;
          if (value > largest) {
            largest = value;
            winner = position;
          }
        }
      }
    }
    output[item] = from_float<T>(w.is_max ? largest : sum / divisor_of(w, a, b, c));
    if (w.is_max) winners[item] = static_cast<std::int32_t>(winner);
  }
};

template <class T>
struct PoolBackward {
  Windows w;
  const T* gradient;
  const std::int32_t* winners;
  T* result;
  template <int width>
  __device__ void run(std::int64_t item) const {
    const Place place = place_of(w.input, w.in, item);
    const std::int64_t self = (place.position[0] * w.in[1] + place.position[1]) * w.in[2] + place.position[2];
    const Range a = covering(w, 0, place.position[0]);
    const Range b = covering(w, 1, place.position[1]);
    const Range c = covering(w, 2, place.position[2]);
    Image small = w.input;
    small.positions = w.out[0] * w.out[1] * w.out[2];
    float sum = 0;
    for (std::int64_t i = a.start; i < a.end; ++i) {
      for (std::int64_t j = b.start; j < b.end; ++j) {
        for (std::int64_t k = c.start; k < c.end; ++k) {
          const std::int64_t window = item_of(small, place.sample, place.channel, (i * w.out[1] + j) * w.out[2] + k);
          const float slope = to_float(gradient[window]);
          if (w.is_max) {
            sum += winners[window] == self ? slope : 0;
          } else {
            sum += slope / divisor_of(w, covered(w, 0, i), covered(w, 1, j), covered(w, 2, k));
          }
        }
      }
    }
    result[item] = from_float<T>(sum);
  }
};

/// A batch norm with one block of threads for each channel.
template <class T>
__global__ void batch_norm_kernel(Image image, const T* input, Trained trained, float* means, float* inverse_deviations,
                                  T* output, float epsilon) {
  const std::int64_t channel = blockIdx.x;
  const std::int64_t rows = image.samples * image.positions;
  const auto item = [&](std::int64_t row) { return item_of(image, row / image.positions, channel, row % image.positions); };
  float sum = 0;
  for (std::int64_t row = threadIdx.x; row < rows; row += block) sum += to_float(input[item(row)]);
  const float mean = reduce<Sum, block>(sum) / static_cast<float>(rows);
  float squares = 0;
  for (std::int64_t row = threadIdx.x; row < rows; row += block) {
    const float away = to_float(input[item(row)]) - mean;
    squares += away * away;
  }
  const float inverse = rsqrtf(reduce<Sum, block>(squares) / static_cast<float>(rows) + epsilon);
  for (std::int64_t row = threadIdx.x; row < rows; row += block) {
    const float value = (to_float(input[item(row)]) - mean) * inverse;
    output[item(row)] = from_float<T>(value * scale_of(trained, channel) + shift_of(trained, channel));
  }
  if (threadIdx.x == 0) {
    means[channel] = mean;
    inverse_deviations[channel] = inverse;
  }
}

template <class T>
__global__ void batch_norm_backward_kernel(Image image, const T* input, Trained trained, const float* means,
                                           const float* inverse_deviations, const T* gradient, T* result,
                                           float* scale_gradient, float* shift_gradient) {
  const std::int64_t channel = blockIdx.x;
  const std::int64_t rows = image.samples * image.positions;
  const auto item = [&](std::int64_t row) { return item_of(image, row / image.positions, channel, row % image.positions); };
  const float mean = means[channel];
  const float inverse = inverse_deviations[channel];
  float sum = 0;
  float product = 0;
  for (std::int64_t row = threadIdx.x; row < rows; row += block) {
    const float slope = to_float(gradient[item(row)]);
    sum += slope;
    product += slope * (to_float(input[item(row)]) - mean) * inverse;
  }
  sum = reduce<Sum, block>(sum);
  product = reduce<Sum, block>(product);
  for (std::int64_t row = threadIdx.x; row < rows; row += block) {
    const float value = (to_float(input[item(row)]) - mean) * inverse;
    const float slope = to_float(gradient[item(row)]) - (sum + value * product) / static_cast<float>(rows);
    result[item(row)] = from_float<T>(slope * scale_of(trained, channel) * inverse);
  }
  if (threadIdx.x == 0) {
    if (scale_gradient != nullptr) scale_gradient[channel] = product;
    if (shift_gradient != nullptr) shift_gradient[channel] = sum;
  }
}

}  // namespace

cudaError_t scale_channels(Launch launch, Image image, const void* first, const void* second, void* output) {
  return dispatch(launch.number, [&](auto number) {
    using T = decltype(number);
    return map_rows<whole_width<T>()>(launch.stream, ScaleChannels<T>{image, in<T>(first), in<T>(second), out<T>(output)},
                                      image.items(), length_of(image));
  });
}

cudaError_t scale_channels_backward(Launch launch, Image image, const void* first, const void* second,
                                    const void* output_gradient, void* first_gradient, void* second_gradient) {
  return dispatch(launch.number, [&](auto number) {
    using T = decltype(number);
    if (image.channels_innermost) {
      const dim3 grid(warps(image.channels), static_cast<unsigned>(image.samples));
      DDL_LAUNCH(scale_backward_kernel<T>, grid, dim3(warp, lanes), launch.stream, image, in<T>(first), in<T>(second),
                 in<T>(output_gradient), out<T>(first_gradient), out<T>(second_gradient));
    } else {
      const auto grid = static_cast<unsigned>((image.samples * image.channels + lanes - 1) / lanes);
      DDL_LAUNCH(scale_backward_by_rows_kernel<T>, grid, dim3(warp, lanes), launch.stream, image, in<T>(first),
                 in<T>(second), in<T>(output_gradient), out<T>(first_gradient), out<T>(second_gradient));
    }
    return cudaGetLastError();
  });
}

cudaError_t add_bias(Launch launch, Image image, const void* bias, void* output) {
  return dispatch(launch.number, [&](auto number) {
    using T = decltype(number);
    return map_rows<whole_width<T>()>(launch.stream, AddBias<T>{image, in<T>(bias), out<T>(output)}, image.items(),
                                      length_of(image));
  });
}

int channel_sum_parts(Image image) {
  // There are enough blocks for a large device, and each has a minimum of work.
  constexpr std::int64_t wanted = 1024;
  const std::int64_t columns = image.channels_innermost ? warps(image.channels) : image.channels;
  const std::int64_t most =
      image.channels_innermost ? (image.samples * image.positions + 8 * lanes - 1) / (8 * lanes) : image.samples;
  const std::int64_t parts = wanted / columns < most ? wanted / columns : most;
  return static_cast<int>(parts > 1 ? parts : 1);
}

cudaError_t channel_sums(Launch launch, Image image, const void* input, float* partial, void* sums) {
  return dispatch(launch.number, [&](auto number) {
    using T = decltype(number);
    const auto parts = static_cast<unsigned>(channel_sum_parts(image));
    if (image.channels_innermost) {
      DDL_LAUNCH(column_sums_kernel<T>, dim3(warps(image.channels), parts), dim3(warp, lanes), launch.stream, in<T>(input),
                 image.samples * image.positions, image.channels, partial);
    } else {
      DDL_LAUNCH(row_sums_kernel<T>, dim3(static_cast<unsigned>(image.channels), parts), dim3(block), launch.stream,
                 in<T>(input), image, partial);
    }
    if (const cudaError_t status = cudaGetLastError(); status != cudaSuccess) return status;
    return map<1>(launch.stream, AddParts<T>{partial, out<T>(sums), parts, image.channels}, image.channels);
  });
}

cudaError_t pool(Launch launch, Windows windows, const void* input, std::int32_t* winners, void* output) {
  return dispatch(launch.number, [&](auto number) {
    using T = decltype(number);
    const std::int64_t items =
        windows.input.samples * windows.input.channels * windows.out[0] * windows.out[1] * windows.out[2];
    return map<1>(launch.stream, Pool<T>{windows, in<T>(input), winners, out<T>(output)}, items);
  });
}

cudaError_t pool_backward(Launch launch, Windows windows, const void* output_gradient, const std::int32_t* winners,
                          void* input_gradient) {
  return dispatch(launch.number, [&](auto number) {
    using T = decltype(number);
    return map<1>(launch.stream, PoolBackward<T>{windows, in<T>(output_gradient), winners, out<T>(input_gradient)},
                  windows.input.items());
  });
}

cudaError_t batch_norm(Launch launch, Image image, const void* input, Trained trained, float* mean, float* inverse_deviation,
                       void* output, float epsilon) {
  return dispatch(launch.number, [&](auto number) {
    using T = decltype(number);
    DDL_LAUNCH(batch_norm_kernel<T>, static_cast<unsigned>(image.channels), block, launch.stream, image, in<T>(input),
               trained, mean, inverse_deviation, out<T>(output), epsilon);
    return cudaGetLastError();
  });
}

cudaError_t batch_norm_backward(Launch launch, Image image, const void* input, Trained trained, const float* mean,
                                const float* inverse_deviation, const void* output_gradient, void* input_gradient,
                                float* scale_gradient, float* shift_gradient) {
  return dispatch(launch.number, [&](auto number) {
    using T = decltype(number);
    DDL_LAUNCH(batch_norm_backward_kernel<T>, static_cast<unsigned>(image.channels), block, launch.stream, image,
               in<T>(input), trained, mean, inverse_deviation, in<T>(output_gradient), out<T>(input_gradient),
               scale_gradient, shift_gradient);
    return cudaGetLastError();
  });
}

}  // namespace ddl::cuda::device
