#include "profiler/backends/cuda/device/image.cuh"

// Routing of tokens to experts, and concatenation of tensors of one shape.
namespace ddl::cuda::device {
namespace {

/// The score by which experts are ordered. NaN comes last.
__device__ inline float rank_of(float score) { return score == score ? score : -INFINITY; }

/// The best scores of a row, in decreasing order. Equal scores are ordered by their index.
template <class T>
struct ChooseBest {
  const T* scores;
  std::int32_t* chosen;
  std::int64_t experts, active;
  template <int width>
  __device__ void run(std::int64_t row) const {
    const T* from = scores + row * experts;
    float last = INFINITY;
    std::int64_t last_place = -1;
    for (std::int64_t i = 0; i < active; ++i) {
      float best = 0;
      std::int64_t place = -1;
      for (std::int64_t e = 0; e < experts; ++e) {
        const float score = rank_of(to_float(from[e]));
        const bool behind = score < last || (score == last && e > last_place);
        if (behind && (place < 0 || score > best)) {
          best = score;
          place = e;
        }
      }
      chosen[row * active + i] = static_cast<std::int32_t>(place);
      last = best;
      last_place = place;
    }
  }
};

/// The position of an expert among the choices of a row; -1 if the row did not choose the expert.
__device__ inline std::int64_t choice_of(const std::int32_t* chosen, std::int64_t row, std::int64_t active,
                                         std::int64_t expert) {
  for (std::int64_t i = 0; i < active; ++i) {
    if (chosen[row * active + i] == expert) return i;
  }
  return -1;
}

/// Each block counts the rows of one expert.
__global__ void count_kernel(const std::int32_t* chosen, std::int64_t rows, std::int64_t active, std::int32_t* counts) {
  __shared__ std::int32_t sums[block];
  std::int32_t count = 0;
  for (std::int64_t row = threadIdx.x; row < rows; row += block) {
    if (choice_of(chosen, row, active, blockIdx.x) >= 0) ++count;
  }
  sums[threadIdx.x] = count;
  for (unsigned half = block / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
  }
  if (threadIdx.x == 0) counts[blockIdx.x] = sums[0];
}

/// Each block assigns positions to the copies of one expert, in the order of the rows. The positions of an expert follow
/// those of the previous experts.
__global__ void place_kernel(const std::int32_t* chosen, std::int64_t rows, std::int64_t active, const std::int32_t* counts,
                             std::int32_t* tokens, std::int32_t* places) {
  __shared__ std::int32_t sums[block];
  std::int32_t first = 0;
  for (unsigned expert = 0; expert < blockIdx.x; ++expert) first += counts[expert];
  for (std::int64_t start = 0; start < rows; start += block) {
    const std::int64_t row = start + threadIdx.x;
    const std::int64_t choice = row < rows ? choice_of(chosen, row, active, blockIdx.x) : -1;
    sums[threadIdx.x] = choice >= 0 ? 1 : 0;
    __syncthreads();
    for (unsigned distance = 1; distance < block; distance *= 2) {
      const std::int32_t before = threadIdx.x >= distance ? sums[threadIdx.x - distance] : 0;
      __syncthreads();
      sums[threadIdx.x] += before;
      __syncthreads();
    }
    if (choice >= 0) {
      const std::int32_t place = first + sums[threadIdx.x] - 1;
      tokens[place] = static_cast<std::int32_t>(row);
      places[row * active + choice] = place;
    }
    first += sums[block - 1];
    __syncthreads();
  }
}

template <class T>
struct KeepBest {
  const T* scores;
  T* output;
  std::int64_t experts, active;
  template <int width>
  __device__ void run(std::int64_t item) const {
    const T* row = scores + item / experts * experts;
    const std::int64_t self = item % experts;
    const float score = rank_of(to_float(row[self]));
    std::int64_t better = 0;
    for (std::int64_t e = 0; e < experts; ++e) {
      const float other = rank_of(to_float(row[e]));
      if (other > score || (other == score && e < self)) ++better;
    }
    output[item] = better < active ? row[self] : from_float<T>(0);
  }
};

/// Copies each element of the gradient for which the element of the output is not zero; sets all other elements to zero.
template <class T>
struct WhereKept {
  const T* output;
  const T* gradient;
  T* result;
  template <int width>
  __device__ void run(std::int64_t item) const {
    const Pack<T, width> kept = load<width>(output, item);
    Pack<T, width> pack = load<width>(gradient, item);
    for (int i = 0; i < width; ++i) {
      if (to_float(kept.at[i]) == 0) pack.at[i] = from_float<T>(0);
    }
    store<width>(result, item, pack);
  }
};

template <class T>
struct GatherRows {
  const T* input;
  const std::int32_t* rows;
  T* output;
  std::int64_t channels;
  template <int width>
  __device__ void run(std::int64_t item) const {
    store<width>(output, item, load<width>(input, rows[item / channels] * channels + item % channels));
  }
};

/// Adds up a row's copies, each multiplied by its weight if there are weights.
template <class T, bool weighs>
struct AddCopies {
  Routes routes;
  const T* copies;
  const T* weights;
  T* output;
  template <int width>
  __device__ void run(std::int64_t item) const {
    const std::int64_t row = item / routes.channels;
    Pack<float, width> sums{};
    for (std::int64_t i = 0; i < routes.active; ++i) {
      const std::int64_t copy = routes.places[row * routes.active + i];
      const float weight = weighs ? to_float(weights[row * routes.experts + routes.chosen[row * routes.active + i]]) : 1.0F;
      const Pack<T, width> pack = load<width>(copies, copy * routes.channels + item % routes.channels);
      for (int n = 0; n < width; ++n) sums.at[n] += weight * to_float(pack.at[n]);
    }
    Pack<T, width> pack;
    for (int n = 0; n < width; ++n) pack.at[n] = from_float<T>(sums.at[n]);
    store<width>(output, item, pack);
  }
};

/// Computes the gradient of each copy of a token, and the gradient of its weight, with one row per
/// copy. Weights of experts that were not chosen must be zero.
template <class T>
struct CombineBackward {
  Routes routes;
  const T* copies;
  const T* weights;
  const T* gradient;
  T* copy_gradients;
  T* weight_gradients;
  template <int threads>
  __device__ void run(std::int64_t choice, unsigned lane) const {
    const std::int64_t row = choice / routes.active;
    const std::int64_t copy = routes.places[choice];
    const std::int64_t weight = row * routes.experts + routes.chosen[choice];
    const float by = to_float(weights[weight]);
    float sum = 0;
    for (std::int64_t c = lane; c < routes.channels; c += threads) {
      const float slope = to_float(gradient[row * routes.channels + c]);
      copy_gradients[copy * routes.channels + c] = from_float<T>(by * slope);
      sum += slope * to_float(copies[copy * routes.channels + c]);
    }
    sum = reduce<Sum, threads>(sum);
    if (lane == 0) weight_gradients[weight] = from_float<T>(sum);
  }
};

/// Copies several tensors to [samples, count, channels], or back.
template <class T>
struct StackRows {
  Addresses addresses;
  T* together;
  std::int64_t pitch, channels, length;  ///< elements per sample: of the concatenation, of one tensor, of all tensors
  template <int width>
  __device__ void run(std::int64_t item) const {
    const std::int64_t sample = item / length;
    const std::int64_t place = item % length;
    const T* from = static_cast<const T*>(addresses.at[place / channels]);
    store<width>(together, sample * pitch + place, load<width>(from, sample * channels + place % channels));
  }
};

template <class T>
struct UnstackRows {
  Addresses addresses;
  const T* first;  ///< `first` and `second` are added
  const T* second;
  std::int64_t pitch, channels, length;
  template <int width>
  __device__ void run(std::int64_t item) const {
    const std::int64_t sample = item / length;
    const std::int64_t place = item % length;
    Pack<T, width> a = load<width>(first, sample * pitch + place);
    const Pack<T, width> b = load<width>(second, sample * pitch + place);
    for (int i = 0; i < width; ++i) a.at[i] = from_float<T>(to_float(a.at[i]) + to_float(b.at[i]));
    store<width>(static_cast<T*>(addresses.at[place / channels]), sample * channels + place % channels, a);
  }
};

/// The row and the column of entry i below a matrix's diagonal. Entries are numbered row by row:
/// row r begins at r·(r - 1)/2.
struct Below {
  std::int64_t row, column;
};
__device__ inline Below below_diagonal(std::int64_t place) {
  auto row = static_cast<std::int64_t>((1.0F + sqrtf(1.0F + 8.0F * static_cast<float>(place))) / 2.0F);
  while (row * (row - 1) / 2 > place) --row;
  while (row * (row + 1) / 2 <= place) ++row;
  return {row, place - row * (row - 1) / 2};
}

/// Copies the first vector of each sample, and the entries below the diagonal of its products.
template <class T>
struct PickPairs {
  const T* together;
  const T* products;
  T* output;
  std::int64_t count, channels, length;
  template <int width>
  __device__ void run(std::int64_t item) const {
    const std::int64_t sample = item / length;
    const std::int64_t place = item % length;
    if (place < channels) {
      output[item] = together[sample * count * channels + place];
    } else {
      const Below pair = below_diagonal(place - channels);
      output[item] = products[(sample * count + pair.row) * count + pair.column];
    }
  }
};

template <class T>
struct PutPairs {
  const T* gradient;
  T* products;
  std::int64_t count, channels, length;
  template <int width>
  __device__ void run(std::int64_t item) const {
    const std::int64_t sample = item / (count * count);
    const std::int64_t row = item / count % count;
    const std::int64_t column = item % count;
    products[item] = column < row ? gradient[sample * length + channels + row * (row - 1) / 2 + column] : from_float<T>(0);
  }
};

template <class T>
struct AddRowsTo {
  const T* input;
  T* output;
  std::int64_t pitch, length;
  template <int width>
  __device__ void run(std::int64_t item) const {
    const float more = to_float(input[item / length * pitch + item % length]);
    output[item] = from_float<T>(to_float(output[item]) + more);
  }
};

}  // namespace

cudaError_t choose_best(Launch launch, const void* scores, std::int32_t* chosen, std::int64_t rows, std::int64_t experts,
                        std::int64_t active) {
  return dispatch(launch.number, [&](auto number) {
    using T = decltype(number);
    return map<1>(launch.stream, ChooseBest<T>{in<T>(scores), chosen, experts, active}, rows);
  });
}

cudaError_t place_copies(cudaStream_t stream, const std::int32_t* chosen, std::int64_t rows, std::int64_t experts,
                         std::int64_t active, std::int32_t* counts, std::int32_t* tokens, std::int32_t* places) {
  const auto grid = static_cast<unsigned>(experts);
  DDL_LAUNCH(count_kernel, grid, block, stream, chosen, rows, active, counts);
  if (const cudaError_t status = cudaGetLastError(); status != cudaSuccess) return status;
  DDL_LAUNCH(place_kernel, grid, block, stream, chosen, rows, active, counts, tokens, places);
  return cudaGetLastError();
}

cudaError_t keep_best(Launch launch, const void* scores, void* output, std::int64_t rows, std::int64_t experts,
                      std::int64_t active) {
  return dispatch(launch.number, [&](auto number) {
    using T = decltype(number);
    return map<1>(launch.stream, KeepBest<T>{in<T>(scores), out<T>(output), experts, active}, rows * experts);
  });
}

cudaError_t where_kept(Launch launch, const void* output, const void* output_gradient, void* result, std::int64_t items) {
  return dispatch(launch.number, [&](auto number) {
    using T = decltype(number);
    return map<whole_width<T>()>(launch.stream, WhereKept<T>{in<T>(output), in<T>(output_gradient), out<T>(result)}, items);
  });
}

cudaError_t gather_rows(Launch launch, const void* input, const std::int32_t* rows, void* output, std::int64_t count,
                        std::int64_t channels) {
  return dispatch(launch.number, [&](auto number) {
    using T = decltype(number);
    return map_rows<whole_width<T>()>(launch.stream, GatherRows<T>{in<T>(input), rows, out<T>(output), channels},
                                      count * channels, channels);
  });
}

cudaError_t add_copies(Launch launch, Routes routes, const void* copies, const void* weights, void* output,
                       std::int64_t rows) {
  return dispatch(launch.number, [&](auto number) {
    using T = decltype(number);
    constexpr int width = whole_width<T>();
    const std::int64_t items = rows * routes.channels;
    if (weights == nullptr) {
      const AddCopies<T, false> work{routes, in<T>(copies), nullptr, out<T>(output)};
      return map_rows<width>(launch.stream, work, items, routes.channels);
    }
    const AddCopies<T, true> work{routes, in<T>(copies), in<T>(weights), out<T>(output)};
    return map_rows<width>(launch.stream, work, items, routes.channels);
  });
}

cudaError_t combine_backward(Launch launch, Routes routes, const void* copies, const void* weights,
                             const void* output_gradient, void* copy_gradients, void* weight_gradients, std::int64_t rows) {
  return dispatch(launch.number, [&](auto number) {
    using T = decltype(number);
    const CombineBackward<T> work{
        routes, in<T>(copies), in<T>(weights), in<T>(output_gradient), out<T>(copy_gradients), out<T>(weight_gradients)};
    return each_row(launch.stream, work, rows * routes.active, routes.channels);
  });
}

cudaError_t stack(Launch launch, const Addresses& addresses, int count, std::int64_t channels, std::int64_t samples,
                  std::int64_t pitch, void* together) {
  return dispatch(launch.number, [&](auto number) {
    using T = decltype(number);
    const StackRows<T> work{addresses, out<T>(together), pitch, channels, count * channels};
    return map_rows<whole_width<T>()>(launch.stream, work, samples * count * channels, channels);
  });
}

cudaError_t unstack(Launch launch, const Addresses& addresses, int count, std::int64_t channels, std::int64_t samples,
                    std::int64_t pitch, const void* first, const void* second) {
  return dispatch(launch.number, [&](auto number) {
    using T = decltype(number);
    const UnstackRows<T> work{addresses, in<T>(first), in<T>(second), pitch, channels, count * channels};
    return map_rows<whole_width<T>()>(launch.stream, work, samples * count * channels, channels);
  });
}

cudaError_t pick_pairs(Launch launch, Pairs pairs, const void* together, const void* products, void* output) {
  return dispatch(launch.number, [&](auto number) {
    using T = decltype(number);
    const PickPairs<T> work{in<T>(together), in<T>(products), out<T>(output), pairs.count, pairs.channels, pairs.length()};
    return map<1>(launch.stream, work, pairs.samples * pairs.length());
  });
}

cudaError_t put_pairs(Launch launch, Pairs pairs, const void* output_gradient, void* product_gradients) {
  return dispatch(launch.number, [&](auto number) {
    using T = decltype(number);
    const PutPairs<T> work{in<T>(output_gradient), out<T>(product_gradients), pairs.count, pairs.channels, pairs.length()};
    return map<1>(launch.stream, work, pairs.samples * pairs.count * pairs.count);
  });
}

cudaError_t add_first(Launch launch, Pairs pairs, const void* output_gradient, void* first_gradient) {
  return dispatch(launch.number, [&](auto number) {
    using T = decltype(number);
    const AddRowsTo<T> work{in<T>(output_gradient), out<T>(first_gradient), pairs.length(), pairs.channels};
    return map<1>(launch.stream, work, pairs.samples * pairs.channels);
  });
}

}  // namespace ddl::cuda::device
