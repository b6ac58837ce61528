#include "profiler/backends/cuda/device/grid.cuh"

namespace ddl::cuda::device {
namespace {

template <class T>
struct CopyRows {
  const T* input;
  std::int64_t from_pitch;
  T* output;
  std::int64_t to_pitch, length;
  template <int width>
  __device__ void run(std::int64_t item) const {
    const std::int64_t row = item / length;
    const std::int64_t column = item % length;
    store<width>(output, row * to_pitch + column, load<width>(input, row * from_pitch + column));
  }
};

template <class T>
struct SplitHeads {
  Heads heads;
  const T* together;
  T* apart;
  /// `item` is an index in `apart`, the tensor with separate heads.
  template <int width>
  __device__ void run(std::int64_t item) const {
    const std::int64_t d = item % heads.size;
    const std::int64_t token = item / heads.size % heads.tokens;
    const std::int64_t head = item / (heads.size * heads.tokens) % heads.heads;
    const std::int64_t sample = item / (heads.size * heads.tokens * heads.heads);
    const std::int64_t place = (sample * heads.tokens + token) * heads.width + heads.offset + head * heads.size + d;
    store<width>(apart, item, load<width>(together, place));
  }
};

template <class T>
struct JoinHeads {
  Heads heads;
  const T* apart;
  T* together;
  template <int width>
  __device__ void run(std::int64_t item) const {
    const std::int64_t d = item % heads.size;
    const std::int64_t token = item / heads.size % heads.tokens;
    const std::int64_t head = item / (heads.size * heads.tokens) % heads.heads;
    const std::int64_t sample = item / (heads.size * heads.tokens * heads.heads);
    const std::int64_t place = (sample * heads.tokens + token) * heads.width + heads.offset + head * heads.size + d;
    store<width>(together, place, load<width>(apart, item));
  }
};

template <class T>
struct Softmax {
  Scores scores;
  const T* input;
  T* output;
  template <int threads>
  __device__ void run(std::int64_t row, unsigned lane) const {
    const T* from = input + row * scores.length;
    T* to = output + row * scores.length;
    const std::int64_t seen = scores.causal ? row % scores.queries + 1 : scores.length;
    float largest = Largest::start();
    for (std::int64_t i = lane; i < seen; i += threads) largest = fmaxf(largest, to_float(from[i]) * scores.scale);
    largest = reduce<Largest, threads>(largest);
    float sum = 0;
    for (std::int64_t i = lane; i < seen; i += threads) sum += expf(to_float(from[i]) * scores.scale - largest);
    const float factor = 1 / reduce<Sum, threads>(sum);
    for (std::int64_t i = lane; i < scores.length; i += threads) {
      to[i] = from_float<T>(i < seen ? expf(to_float(from[i]) * scores.scale - largest) * factor : 0);
    }
  }
};

template <class T>
struct SoftmaxBackward {
  Scores scores;
  const T* output;
  const T* gradient;
  T* result;
  template <int threads>
  __device__ void run(std::int64_t row, unsigned lane) const {
    const std::int64_t start = row * scores.length;
    const std::int64_t seen = scores.causal ? row % scores.queries + 1 : scores.length;
    float sum = 0;
    for (std::int64_t i = lane; i < seen; i += threads) sum += to_float(output[start + i]) * to_float(gradient[start + i]);
    sum = reduce<Sum, threads>(sum);
    for (std::int64_t i = lane; i < scores.length; i += threads) {
      const float y = to_float(output[start + i]);
      result[start + i] = from_float<T>(i < seen ? y * (to_float(gradient[start + i]) - sum) * scores.scale : 0);
    }
  }
};

template <class T>
struct CrossEntropy {
  const T* input;
  float* logarithms;
  float* losses;
  std::int64_t classes;
  template <int threads>
  __device__ void run(std::int64_t row, unsigned lane) const {
    const T* from = input + row * classes;
    float largest = Largest::start();
    for (std::int64_t i = lane; i < classes; i += threads) largest = fmaxf(largest, to_float(from[i]));
    largest = reduce<Largest, threads>(largest);
    float sum = 0;
    for (std::int64_t i = lane; i < classes; i += threads) sum += expf(to_float(from[i]) - largest);
    const float whole = largest + logf(reduce<Sum, threads>(sum));
    for (std::int64_t i = lane; i < classes; i += threads) {
      const float logarithm = to_float(from[i]) - whole;
      logarithms[row * classes + i] = logarithm;
      if (i == row % classes) losses[row] = -logarithm;
    }
  }
};

template <class T>
struct CrossEntropyBackward {
  const float* logarithms;
  const float* loss_gradient;
  T* result;
  std::int64_t rows, classes;
  template <int width>
  __device__ void run(std::int64_t item) const {
    const std::int64_t row = item / classes;
    const std::int64_t wanted = row % classes - item % classes;
    const float factor = *loss_gradient / static_cast<float>(rows);
    const Pack<float, width> from = load<width>(logarithms, item);
    Pack<T, width> pack;
    for (int i = 0; i < width; ++i) pack.at[i] = from_float<T>((expf(from.at[i]) - (i == wanted ? 1.0F : 0.0F)) * factor);
    store<width>(result, item, pack);
  }
};

template <class T>
__global__ void squares_kernel(const T* input, float* partial, std::int64_t items) {
  float sum = 0;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * block + threadIdx.x; i < items;
       i += static_cast<std::int64_t>(gridDim.x) * block) {
    const float value = to_float(input[i]);
    sum += value * value;
  }
  sum = reduce<Sum, block>(sum);
  if (threadIdx.x == 0) partial[blockIdx.x] = sum;
}

__global__ void mean_kernel(const float* parts, std::int64_t count, float divisor, float* mean, bool adds) {
  float sum = 0;
  for (std::int64_t i = threadIdx.x; i < count; i += block) sum += parts[i];
  sum = reduce<Sum, block>(sum);
  if (threadIdx.x == 0) *mean = sum / divisor + (adds ? *mean : 0.0F);
}

template <class T>
struct Scale {
  const T* input;
  const float* factor;
  T* output;
  float more;
  template <int width>
  __device__ void run(std::int64_t item) const {
    Pack<T, width> pack = load<width>(input, item);
    for (T& x : pack.at) x = from_float<T>(to_float(x) * *factor * more);
    store<width>(output, item, pack);
  }
};

template <class T>
__device__ std::int64_t row_of(const T* tokens, std::int64_t place, std::int64_t rows) {
  const auto row = static_cast<std::int64_t>(tokens[place]);
  return row < 0 ? 0 : (row < rows ? row : rows - 1);
}

template <class T>
struct LookUp {
  const float* tokens;
  const T* table;
  T* output;
  std::int64_t rows, features;
  template <int width>
  __device__ void run(std::int64_t item) const {
    const std::int64_t row = row_of(tokens, item / features, rows);
    store<width>(output, item, load<width>(table, row * features + item % features));
  }
};

template <class T>
struct LookUpBackward {
  const float* tokens;
  const T* gradient;
  float* table;
  std::int64_t rows, features;
  template <int width>
  __device__ void run(std::int64_t item) const {
    const std::int64_t row = row_of(tokens, item / features, rows);
    const Pack<T, width> pack = load<width>(gradient, item);
    for (int i = 0; i < width; ++i) atomicAdd(table + row * features + item % features + i, to_float(pack.at[i]));
  }
};

template <class T>
struct AddTable {
  const T* input;
  const T* table;
  T* output;
  std::int64_t each;
  template <int width>
  __device__ void run(std::int64_t item) const {
    Pack<T, width> pack = load<width>(input, item);
    const Pack<T, width> rows = load<width>(table, item % each);
    for (int i = 0; i < width; ++i) pack.at[i] = from_float<T>(to_float(pack.at[i]) + to_float(rows.at[i]));
    store<width>(output, item, pack);
  }
};

template <class T>
struct AddTableBackward {
  const T* gradient;
  T* table;
  std::int64_t samples, each;
  template <int width>
  __device__ void run(std::int64_t item) const {
    Pack<float, width> sums{};
    for (std::int64_t sample = 0; sample < samples; ++sample) {
      const Pack<T, width> pack = load<width>(gradient, sample * each + item);
      for (int i = 0; i < width; ++i) sums.at[i] += to_float(pack.at[i]);
    }
    Pack<T, width> pack;
    for (int i = 0; i < width; ++i) pack.at[i] = from_float<T>(sums.at[i]);
    store<width>(table, item, pack);
  }
};

}  // namespace

cudaError_t copy_rows(Launch launch, const void* input, std::int64_t from_pitch, void* output, std::int64_t to_pitch,
                      std::int64_t rows, std::int64_t length) {
  return dispatch(launch.number, [&](auto number) {
    using T = decltype(number);
    constexpr int width = whole_width<T>();
    const CopyRows<T> work{in<T>(input), from_pitch, out<T>(output), to_pitch, length};
    const bool whole = from_pitch % width == 0 && to_pitch % width == 0 && is_aligned(input, sizeof(T) * width) &&
                       is_aligned(output, sizeof(T) * width);
    return whole ? map_rows<width>(launch.stream, work, rows * length, length) : map<1>(launch.stream, work, rows * length);
  });
}

cudaError_t split_heads(Launch launch, Heads heads, const void* together, void* apart) {
  return dispatch(launch.number, [&](auto number) {
    using T = decltype(number);
    constexpr int width = whole_width<T>();
    const std::int64_t items = heads.samples * heads.heads * heads.tokens * heads.size;
    const SplitHeads<T> work{heads, in<T>(together), out<T>(apart)};
    return heads.width % width == 0 && heads.offset % width == 0 ? map_rows<width>(launch.stream, work, items, heads.size)
                                                                 : map<1>(launch.stream, work, items);
  });
}

cudaError_t join_heads(Launch launch, Heads heads, const void* apart, void* together) {
  return dispatch(launch.number, [&](auto number) {
    using T = decltype(number);
    constexpr int width = whole_width<T>();
    const std::int64_t items = heads.samples * heads.heads * heads.tokens * heads.size;
    const JoinHeads<T> work{heads, in<T>(apart), out<T>(together)};
    return heads.width % width == 0 && heads.offset % width == 0 ? map_rows<width>(launch.stream, work, items, heads.size)
                                                                 : map<1>(launch.stream, work, items);
  });
}

cudaError_t softmax(Launch launch, Scores scores, const void* input, void* output) {
  return dispatch(launch.number, [&](auto number) {
    using T = decltype(number);
    return each_row(launch.stream, Softmax<T>{scores, in<T>(input), out<T>(output)}, scores.rows, scores.length);
  });
}

cudaError_t softmax_backward(Launch launch, Scores scores, const void* output, const void* output_gradient,
                             void* input_gradient) {
  return dispatch(launch.number, [&](auto number) {
    using T = decltype(number);
    return each_row(launch.stream, SoftmaxBackward<T>{scores, in<T>(output), in<T>(output_gradient), out<T>(input_gradient)},
                    scores.rows, scores.length);
  });
}

cudaError_t mean(cudaStream_t stream, const float* parts, std::int64_t count, double divisor, float* result, bool adds) {
  DDL_LAUNCH(mean_kernel, 1, block, stream, parts, count, static_cast<float>(divisor), result, adds);
  return cudaGetLastError();
}

cudaError_t cross_entropy(Launch launch, const void* input, float* logarithms, float* row_losses, float* loss,
                          std::int64_t rows, std::int64_t classes, bool adds) {
  const cudaError_t status = dispatch(launch.number, [&](auto number) {
    using T = decltype(number);
    return each_row(launch.stream, CrossEntropy<T>{in<T>(input), logarithms, row_losses, classes}, rows, classes);
  });
  if (status != cudaSuccess) return status;
  return mean(launch.stream, row_losses, rows, static_cast<double>(rows), loss, adds);
}

cudaError_t cross_entropy_backward(Launch launch, const float* logarithms, const float* loss_gradient, void* input_gradient,
                                   std::int64_t rows, std::int64_t classes) {
  return dispatch(launch.number, [&](auto number) {
    using T = decltype(number);
    return map_rows<whole_width<float>()>(
        launch.stream, CrossEntropyBackward<T>{logarithms, loss_gradient, out<T>(input_gradient), rows, classes},
        rows * classes, classes);
  });
}

int square_parts(std::int64_t items) {
  constexpr std::int64_t most_blocks = 512;
  return static_cast<int>(blocks(items) < most_blocks ? blocks(items) : most_blocks);
}

cudaError_t mean_square(Launch launch, const void* input, float* partial, float* loss, std::int64_t items, bool adds) {
  const int parts = square_parts(items);
  const cudaError_t status = dispatch(launch.number, [&](auto number) {
    using T = decltype(number);
    DDL_LAUNCH(squares_kernel<T>, static_cast<unsigned>(parts), block, launch.stream, in<T>(input), partial, items);
    return cudaGetLastError();
  });
  if (status != cudaSuccess) return status;
  return mean(launch.stream, partial, parts, static_cast<double>(items), loss, adds);
}

cudaError_t mean_square_backward(Launch launch, const void* input, const float* loss_gradient, void* input_gradient,
                                 std::int64_t items) {
  return dispatch(launch.number, [&](auto number) {
    using T = decltype(number);
    return map<whole_width<T>()>(
        launch.stream, Scale<T>{in<T>(input), loss_gradient, out<T>(input_gradient), 2 / static_cast<float>(items)}, items);
  });
}

cudaError_t look_up(Launch launch, const float* tokens, const void* table, void* output, std::int64_t count,
                    std::int64_t rows, std::int64_t features) {
  return dispatch(launch.number, [&](auto number) {
    using T = decltype(number);
    return map_rows<whole_width<T>()>(launch.stream, LookUp<T>{tokens, in<T>(table), out<T>(output), rows, features},
                                      count * features, features);
  });
}

cudaError_t look_up_backward(Launch launch, const float* tokens, const void* output_gradient, float* table,
                             std::int64_t count, std::int64_t rows, std::int64_t features) {
  return dispatch(launch.number, [&](auto number) {
    using T = decltype(number);
    return map_rows<whole_width<T>()>(
        launch.stream, LookUpBackward<T>{tokens, in<T>(output_gradient), table, rows, features}, count * features, features);
  });
}

cudaError_t add_table(Launch launch, const void* input, const void* table, void* output, std::int64_t samples,
                      std::int64_t each) {
  return dispatch(launch.number, [&](auto number) {
    using T = decltype(number);
    return map_rows<whole_width<T>()>(launch.stream, AddTable<T>{in<T>(input), in<T>(table), out<T>(output), each},
                                      samples * each, each);
  });
}

cudaError_t add_table_backward(Launch launch, const void* output_gradient, void* table, std::int64_t samples,
                               std::int64_t each) {
  return dispatch(launch.number, [&](auto number) {
    using T = decltype(number);
    return map_rows<whole_width<T>()>(launch.stream,
                                      AddTableBackward<T>{in<T>(output_gradient), out<T>(table), samples, each}, each, each);
  });
}

}  // namespace ddl::cuda::device
