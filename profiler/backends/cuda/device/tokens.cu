#include "profiler/backends/cuda/device/image.cuh"
#include "profiler/backends/cuda/device/random.cuh"

// Kernels on whole tokens and samples, and the softmax over the channels of an image with innermost positions.
namespace ddl::cuda::device {
namespace {

template <class T>
struct Prepend {
  const T* first;
  const T* input;
  T* output;
  std::int64_t length, each;  ///< elements of the prepended part, and of the rest of a sample
  template <int width>
  __device__ void run(std::int64_t item) const {
    const std::int64_t sample = item / (length + each);
    const std::int64_t place = item % (length + each);
    store<width>(output, item,
                 place < length ? load<width>(first, place) : load<width>(input, sample * each + place - length));
  }
};

/// Sums over rows that begin `pitch` elements apart. A block has 32 columns, and several rows of threads share them.
template <class T>
__global__ void sum_rows_kernel(const T* input, std::int64_t pitch, std::int64_t rows, std::int64_t length, T* sums) {
  __shared__ float shared[lanes][warp];
  const std::int64_t column = static_cast<std::int64_t>(blockIdx.x) * warp + threadIdx.x;
  float sum = 0;
  if (column < length) {
    for (std::int64_t row = threadIdx.y; row < rows; row += lanes) sum += to_float(input[row * pitch + column]);
  }
  shared[threadIdx.y][threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.y != 0 || column >= length) return;
  for (unsigned row = 1; row < lanes; ++row) sum += shared[row][threadIdx.x];
  sums[column] = from_float<T>(sum);
}

/// Rotary embedding: channel i and channel i + pairs of a head are rotated together.
template <class T>
struct Turn {
  Turning turning;
  const T* input;
  const float* cosines;  ///< [tokens, pairs]
  const float* sines;
  T* output;
  float direction;
  template <int width>
  __device__ void run(std::int64_t item) const {
    const std::int64_t channel = item % turning.width;
    const std::int64_t place = channel % turning.size;
    Pack<T, width> pack = load<width>(input, item);
    if (channel < turning.heads * turning.size && place < 2 * turning.pairs) {
      const bool first = place < turning.pairs;
      const Pack<T, width> other = load<width>(input, first ? item + turning.pairs : item - turning.pairs);
      const std::int64_t pair =
          item / turning.width % turning.tokens * turning.pairs + (first ? place : place - turning.pairs);
      const Pack<float, width> cosine = load<width>(cosines, pair);
      const Pack<float, width> sine = load<width>(sines, pair);
      for (int i = 0; i < width; ++i) {
        const float across = direction * sine.at[i] * to_float(other.at[i]);
        pack.at[i] = from_float<T>(to_float(pack.at[i]) * cosine.at[i] + (first ? -across : across));
      }
    }
    store<width>(output, item, pack);
  }
};

template <class T>
struct Multiple {
  const T* input;
  T* output;
  float factor;
  template <int width>
  __device__ void run(std::int64_t item) const {
    Pack<T, width> pack = load<width>(input, item);
    for (T& x : pack.at) x = from_float<T>(to_float(x) * factor);
    store<width>(output, item, pack);
  }
};

/// Drops whole samples. All threads of a sample draw the same decision whether the sample is kept,
/// and the first thread writes the decision to the mask.
template <class T>
struct DropSamples {
  const T* input;
  std::uint8_t* mask;
  T* output;
  std::int64_t each;
  std::uint32_t threshold;
  float scale;
  std::uint64_t seed;
  template <int width>
  __device__ void run(std::int64_t item) const {
    const std::int64_t sample = item / each;
    const bool stays = Random(static_cast<std::uint64_t>(sample), seed).word[0] >= threshold;
    if (item % each == 0) mask[sample] = stays ? 1 : 0;
    Pack<T, width> pack = load<width>(input, item);
    for (T& x : pack.at) x = from_float<T>(stays ? to_float(x) * scale : 0);
    store<width>(output, item, pack);
  }
};

template <class T>
struct MaskSamples {
  const T* input;
  const std::uint8_t* mask;
  T* output;
  std::int64_t each;
  float scale;
  template <int width>
  __device__ void run(std::int64_t item) const {
    const bool stays = mask[item / each] != 0;
    Pack<T, width> pack = load<width>(input, item);
    for (T& x : pack.at) x = from_float<T>(stays ? to_float(x) * scale : 0);
    store<width>(output, item, pack);
  }
};

/// The maximum of the channels of one position, and the sum of exp(channel - maximum). The channels
/// are `positions` elements apart.
struct Powers {
  float largest, sum;
};
template <class T>
__device__ inline Powers powers_of(const T* from, std::int64_t channels, std::int64_t positions) {
  Powers powers{-INFINITY, 0};
  for (std::int64_t c = 0; c < channels; ++c) {
    const float value = to_float(from[c * positions]);
    if (value > powers.largest) {
      powers.sum *= expf(powers.largest - value);
      powers.largest = value;
    }
    powers.sum += expf(value - powers.largest);
  }
  return powers;
}

template <class T>
struct ChannelSoftmax {
  const T* input;
  T* output;
  std::int64_t channels, positions;
  template <int width>
  __device__ void run(std::int64_t row) const {
    const std::int64_t start = row / positions * channels * positions + row % positions;
    const Powers powers = powers_of(input + start, channels, positions);
    const float factor = 1 / powers.sum;
    for (std::int64_t c = 0; c < channels; ++c) {
      const std::int64_t item = start + c * positions;
      output[item] = from_float<T>(expf(to_float(input[item]) - powers.largest) * factor);
    }
  }
};

template <class T>
struct ChannelSoftmaxBackward {
  const T* output;
  const T* gradient;
  T* result;
  std::int64_t channels, positions;
  template <int width>
  __device__ void run(std::int64_t row) const {
    const std::int64_t start = row / positions * channels * positions + row % positions;
    float sum = 0;
    for (std::int64_t c = 0; c < channels; ++c) {
      sum += to_float(output[start + c * positions]) * to_float(gradient[start + c * positions]);
    }
    for (std::int64_t c = 0; c < channels; ++c) {
      const std::int64_t item = start + c * positions;
      result[item] = from_float<T>(to_float(output[item]) * (to_float(gradient[item]) - sum));
    }
  }
};

template <class T>
struct ChannelCrossEntropy {
  const T* input;
  float* logarithms;
  float* losses;
  std::int64_t channels, positions;
  template <int width>
  __device__ void run(std::int64_t row) const {
    const std::int64_t start = row / positions * channels * positions + row % positions;
    const Powers powers = powers_of(input + start, channels, positions);
    const float whole = powers.largest + logf(powers.sum);
    for (std::int64_t c = 0; c < channels; ++c) {
      const std::int64_t item = start + c * positions;
      const float logarithm = to_float(input[item]) - whole;
      logarithms[item] = logarithm;
      if (c == row % channels) losses[row] = -logarithm;
    }
  }
};

template <class T>
struct ChannelCrossEntropyBackward {
  const float* logarithms;
  const float* loss_gradient;
  T* result;
  std::int64_t rows, channels, positions;
  template <int width>
  __device__ void run(std::int64_t item) const {
    const std::int64_t row = item / (channels * positions) * positions + item % positions;
    const std::int64_t channel = item / positions % channels;
    const float factor = *loss_gradient / static_cast<float>(rows);
    const Pack<float, width> from = load<width>(logarithms, item);
    Pack<T, width> pack;
    for (int i = 0; i < width; ++i) {
      const float wanted = (row + i) % channels == channel ? 1.0F : 0.0F;
      pack.at[i] = from_float<T>((expf(from.at[i]) - wanted) * factor);
    }
    store<width>(result, item, pack);
  }
};

}  // namespace

cudaError_t prepend(Launch launch, const void* first, std::int64_t length, const void* input, std::int64_t each,
                    std::int64_t samples, void* output) {
  return dispatch(launch.number, [&](auto number) {
    using T = decltype(number);
    constexpr int width = whole_width<T>();
    const Prepend<T> work{in<T>(first), in<T>(input), out<T>(output), length, each};
    return length % width == 0 ? map_rows<width>(launch.stream, work, samples * (length + each), each)
                               : map<1>(launch.stream, work, samples * (length + each));
  });
}

cudaError_t sum_rows(Launch launch, const void* input, std::int64_t pitch, std::int64_t rows, std::int64_t length,
                     void* sums) {
  return dispatch(launch.number, [&](auto number) {
    using T = decltype(number);
    DDL_LAUNCH(sum_rows_kernel<T>, warps(length), dim3(warp, lanes), launch.stream, in<T>(input), pitch, rows, length,
               out<T>(sums));
    return cudaGetLastError();
  });
}

cudaError_t turn(Launch launch, Turning turning, bool back, const void* input, const float* cosines, const float* sines,
                 void* output, std::int64_t rows) {
  return dispatch(launch.number, [&](auto number) {
    using T = decltype(number);
    constexpr int width = whole_width<T>();
    const Turn<T> work{turning, in<T>(input), cosines, sines, out<T>(output), back ? -1.0F : 1.0F};
    const bool whole = turning.pairs % width == 0 && turning.size % width == 0;
    return whole ? map_rows<width>(launch.stream, work, rows * turning.width, turning.width)
                 : map<1>(launch.stream, work, rows * turning.width);
  });
}

cudaError_t multiply_by(Launch launch, const void* input, float factor, void* output, std::int64_t items) {
  return dispatch(launch.number, [&](auto number) {
    using T = decltype(number);
    return map<whole_width<T>()>(launch.stream, Multiple<T>{in<T>(input), out<T>(output), factor}, items);
  });
}

cudaError_t drop_samples(Launch launch, const void* input, std::uint8_t* mask, void* output, std::int64_t samples,
                         std::int64_t each, double rate, std::uint64_t seed) {
  return dispatch(launch.number, [&](auto number) {
    using T = decltype(number);
    const DropSamples<T> work{in<T>(input), mask, out<T>(output), each, drop_threshold(rate), kept_scale(rate), seed};
    return map_rows<whole_width<T>()>(launch.stream, work, samples * each, each);
  });
}

cudaError_t mask_samples(Launch launch, const void* input, const std::uint8_t* mask, void* output, std::int64_t samples,
                         std::int64_t each, float scale) {
  return dispatch(launch.number, [&](auto number) {
    using T = decltype(number);
    const MaskSamples<T> work{in<T>(input), mask, out<T>(output), each, scale};
    return map_rows<whole_width<T>()>(launch.stream, work, samples * each, each);
  });
}

cudaError_t channel_softmax(Launch launch, Image image, const void* input, void* output) {
  return dispatch(launch.number, [&](auto number) {
    using T = decltype(number);
    const ChannelSoftmax<T> work{in<T>(input), out<T>(output), image.channels, image.positions};
    return map<1>(launch.stream, work, image.samples * image.positions);
  });
}

cudaError_t channel_softmax_backward(Launch launch, Image image, const void* output, const void* output_gradient,
                                     void* input_gradient) {
  return dispatch(launch.number, [&](auto number) {
    using T = decltype(number);
    const ChannelSoftmaxBackward<T> work{in<T>(output), in<T>(output_gradient), out<T>(input_gradient), image.channels,
                                         image.positions};
    return map<1>(launch.stream, work, image.samples * image.positions);
  });
}

cudaError_t channel_cross_entropy(Launch launch, Image image, const void* input, float* logarithms, float* row_losses,
                                  float* loss, bool adds) {
  const std::int64_t rows = image.samples * image.positions;
  const cudaError_t status = dispatch(launch.number, [&](auto number) {
    using T = decltype(number);
    const ChannelCrossEntropy<T> work{in<T>(input), logarithms, row_losses, image.channels, image.positions};
    return map<1>(launch.stream, work, rows);
  });
  return status != cudaSuccess ? status : mean(launch.stream, row_losses, rows, static_cast<double>(rows), loss, adds);
}

cudaError_t channel_cross_entropy_backward(Launch launch, Image image, const float* logarithms, const float* loss_gradient,
                                           void* input_gradient) {
  return dispatch(launch.number, [&](auto number) {
    using T = decltype(number);
    const ChannelCrossEntropyBackward<T> work{
        logarithms, loss_gradient, out<T>(input_gradient), image.samples * image.positions, image.channels, image.positions};
    return map_rows<whole_width<float>()>(launch.stream, work, image.items(), image.positions);
  });
}

}  // namespace ddl::cuda::device
