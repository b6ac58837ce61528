#include "profiler/backends/cuda/device/image.cuh"

// The parts of attention other than matrix products, for cases in which the library has no fused kernel: a softmax of scores
// that are masked or biased by rules, windows cut out of images, and the parts of an additive attention.
namespace ddl::cuda::device {
namespace {

/// Computes the masked and biased scores of a row before the softmax.
template <class T>
struct Rules {
  ScoreRules rules;
  const T* biases;            ///< [heads, queries, keys], or none
  const std::uint8_t* edges;  ///< [windows, queries], or none
  std::int64_t row, query, head, from, end;
  const std::uint8_t* edge;
  float slope;

  __device__ Rules(const ScoreRules& its, const T* bias, const std::uint8_t* window_edges, std::int64_t number)
      : rules(its),
        biases(bias),
        edges(window_edges),
        row(number),
        query(number % its.queries),
        head(number / its.queries % its.heads),
        from(its.window > 0 && query >= its.window ? query - its.window + 1 : 0),
        end(its.causal && query + 1 < its.length ? query + 1 : its.length),
        edge(nullptr),
        slope(0) {
    if (biases != nullptr) biases += (head * its.queries + query) * its.length;
    if (edges != nullptr) edge = edges + number / (its.queries * its.heads) % its.windows * its.length;
    // ALiBi slopes are powers of 2^(−8/heads) [Press et al., "Train short, test long", ICLR 2022, section 3].
    if (its.alibi) slope = exp2f(-8.0F * static_cast<float>(head + 1) / static_cast<float>(its.heads));
  }
  __device__ bool sees(std::int64_t key) const { return edge == nullptr || edge[key] == edge[query]; }
  __device__ float score(float product, std::int64_t key) const {
    const std::int64_t distance = query > key ? query - key : key - query;
    return product * rules.scale - slope * static_cast<float>(distance) + (biases != nullptr ? to_float(biases[key]) : 0.0F);
  }
};

template <class T>
struct RuledSoftmax {
  ScoreRules rules;
  const T* biases;
  const std::uint8_t* edges;
  const T* input;
  T* output;
  template <int threads>
  __device__ void run(std::int64_t row, unsigned lane) const {
    const Rules<T> its(rules, biases, edges, row);
    const T* from = input + row * rules.length;
    T* to = output + row * rules.length;
    float largest = Largest::start();
    for (std::int64_t i = its.from + lane; i < its.end; i += threads) {
      if (its.sees(i)) largest = fmaxf(largest, its.score(to_float(from[i]), i));
    }
    largest = reduce<Largest, threads>(largest);
    float sum = 0;
    for (std::int64_t i = its.from + lane; i < its.end; i += threads) {
      if (its.sees(i)) sum += expf(its.score(to_float(from[i]), i) - largest);
    }
    const float factor = 1 / reduce<Sum, threads>(sum);
    for (std::int64_t i = lane; i < rules.length; i += threads) {
      const bool seen = i >= its.from && i < its.end && its.sees(i);
      to[i] = from_float<T>(seen ? expf(its.score(to_float(from[i]), i) - largest) * factor : 0);
    }
  }
};

template <class T>
struct LookUpBiases {
  const T* table;
  const std::int32_t* rows;
  T* biases;
  std::int64_t pairs, heads;
  template <int width>
  __device__ void run(std::int64_t item) const {
    biases[item] = table[rows[item % pairs] * heads + item / pairs];
  }
};

/// The gradient of the table of biases. Each thread sums the gradients of one pair over part
/// blockIdx.y of the matrices, and adds the sum to the table.
template <class T>
__global__ void table_gradient_kernel(const T* gradients, const std::int32_t* rows, float* table, std::int64_t matrices,
                                      std::int64_t heads, std::int64_t pairs, float factor) {
  const std::int64_t item = static_cast<std::int64_t>(blockIdx.x) * block + threadIdx.x;
  if (item >= heads * pairs) return;
  float sum = 0;
  for (std::int64_t matrix = blockIdx.y; matrix < matrices; matrix += gridDim.y) {
    sum += to_float(gradients[matrix * heads * pairs + item]);
  }
  atomicAdd(table + rows[item % pairs] * heads + item / pairs, sum * factor);
}

template <class Index>
__device__ inline std::int64_t place_in_image(const Cut& cut, std::int64_t item) {
  auto rest = static_cast<Index>(item);
  const auto next = [&rest](std::int64_t size) {
    const auto by = static_cast<Index>(size);
    const Index place = rest % by;
    rest /= by;
    return static_cast<std::int64_t>(place);
  };
  const std::int64_t d = next(cut.size);
  const std::int64_t place = next(cut.area);
  const std::int64_t head = next(cut.heads);
  const std::int64_t window = next(cut.windows);
  const std::int64_t position =
      static_cast<std::int64_t>(rest) * cut.windows * cut.area + cut.places[window * cut.area + place];
  return position * cut.channels + cut.offset + head * cut.size + d;
}

template <class T, class Index>
struct CutWindows {
  Cut cut;
  const T* image;
  T* windows;
  template <int width>
  __device__ void run(std::int64_t item) const {
    store<width>(windows, item, load<width>(image, place_in_image<Index>(cut, item)));
  }
};

template <class T, class Index>
struct PasteWindows {
  Cut cut;
  const T* windows;
  T* image;
  template <int width>
  __device__ void run(std::int64_t item) const {
    store<width>(image, place_in_image<Index>(cut, item), load<width>(windows, item));
  }
};

/// Launches the kernel that `make` returns. Its indices have 32 bits if possible, otherwise 64.
template <class T, class Make>
cudaError_t map_windows(cudaStream_t stream, const Cut& cut, Make make) {
  constexpr int width = whole_width<T>();
  const std::int64_t items = cut.samples * cut.windows * cut.heads * cut.area * cut.size;
  const bool whole = cut.channels % width == 0 && cut.offset % width == 0;
  const auto start = [&](auto work) {
    return whole ? map_rows<width>(stream, work, items, cut.size) : map<1>(stream, work, items);
  };
  return items <= short_most ? start(make(std::uint32_t{})) : start(make(std::int64_t{}));
}

/// Computes v of additive attention: w scaled to the trained length g, v = g·w/|w|. `length` receives |w|.
template <class T>
__global__ void weigh_kernel(const T* biases, std::int64_t features, bool normalized, float* v, float* length) {
  float squares = 0;
  for (std::int64_t f = threadIdx.x; f < features; f += block) squares += to_float(biases[f]) * to_float(biases[f]);
  const float root = sqrtf(reduce<Sum, block>(squares));
  const float factor = normalized ? to_float(biases[2 * features]) / root : 1.0F;
  for (std::int64_t f = threadIdx.x; f < features; f += block) v[f] = to_float(biases[f]) * factor;
  if (threadIdx.x == 0) *length = root;
}

/// Computes the score of each pair of a query and a key, with one row per pair. tanh(query + key)
/// is kept; the score is its product with v.
template <class T>
struct AdditiveScores {
  Additive sizes;
  const T* queries;
  const T* keys;
  const T* biases;
  const float* v;
  T* sums;
  T* scores;
  template <int threads>
  __device__ void run(std::int64_t pair, unsigned lane) const {
    const std::int64_t row = pair / sizes.keys;
    const std::int64_t key = row / sizes.queries * sizes.keys + pair % sizes.keys;
    float score = 0;
    for (std::int64_t f = lane; f < sizes.features; f += threads) {
      const float bias = sizes.normalized ? to_float(biases[sizes.features + f]) : 0.0F;
      const float sum = tanhf(to_float(queries[row * sizes.features + f]) + to_float(keys[key * sizes.features + f]) + bias);
      sums[pair * sizes.features + f] = from_float<T>(sum);
      score += v[f] * sum;
    }
    score = reduce<Sum, threads>(score);
    if (lane == 0) scores[pair] = from_float<T>(score);
  }
};

/// Computes the gradient of 32 features of a query (or key), summed over all its pairs. Also
/// computes the gradient of v if needed.
template <class T, bool of_queries>
__global__ void additive_gradient_kernel(Additive sizes, const T* sums, const T* score_gradients, const float* v,
                                         T* gradients, float* to_v) {
  __shared__ float slopes[lanes][warp];
  __shared__ float products[lanes][warp];
  const std::int64_t feature = static_cast<std::int64_t>(blockIdx.y) * warp + threadIdx.x;
  const std::int64_t row = blockIdx.x;
  const std::int64_t count = of_queries ? sizes.keys : sizes.queries;
  const std::int64_t sample = row / (of_queries ? sizes.queries : sizes.keys);
  float slope = 0;
  float product = 0;
  if (feature < sizes.features) {
    for (std::int64_t i = threadIdx.y; i < count; i += lanes) {
      const std::int64_t pair =
          of_queries ? row * sizes.keys + i : (sample * sizes.queries + i) * sizes.keys + row % sizes.keys;
      const float sum = to_float(sums[pair * sizes.features + feature]);
      const float gradient = to_float(score_gradients[pair]);
      slope += gradient * (1 - sum * sum);
      product += gradient * sum;
    }
  }
  slopes[threadIdx.y][threadIdx.x] = slope;
  products[threadIdx.y][threadIdx.x] = product;
  __syncthreads();
  if (threadIdx.y != 0 || feature >= sizes.features) return;
  for (unsigned i = 1; i < lanes; ++i) {
    slope += slopes[i][threadIdx.x];
    product += products[i][threadIdx.x];
  }
  gradients[row * sizes.features + feature] = from_float<T>(slope * v[feature]);
  if (of_queries) to_v[row * sizes.features + feature] = product;
}

/// Computes the gradients of w and g from the gradient dv of v = g·w/|w|: dg = dv·w/|w|, dw = g/|w|·(dv - w·(dv·w)/|w|²)
/// [Salimans and Kingma, "Weight normalization", NeurIPS 2016, equation 3]. Without a trained length, v is w.
template <class T>
__global__ void direction_gradient_kernel(const T* biases, const float* to_v, const float* length, const T* to_bias,
                                          std::int64_t features, bool normalized, T* gradients) {
  if (!normalized) {
    for (std::int64_t f = threadIdx.x; f < features; f += block) gradients[f] = from_float<T>(to_v[f]);
    return;
  }
  float sum = 0;
  for (std::int64_t f = threadIdx.x; f < features; f += block) sum += to_v[f] * to_float(biases[f]);
  const float along = reduce<Sum, block>(sum) / *length;
  const float factor = to_float(biases[2 * features]) / *length;
  for (std::int64_t f = threadIdx.x; f < features; f += block) {
    gradients[f] = from_float<T>(factor * (to_v[f] - to_float(biases[f]) / *length * along));
    gradients[features + f] = to_bias[f];
  }
  if (threadIdx.x == 0) gradients[2 * features] = from_float<T>(along);
}

}  // namespace

cudaError_t ruled_softmax(Launch launch, ScoreRules rules, const void* biases, const std::uint8_t* edges, const void* input,
                          void* output) {
  return dispatch(launch.number, [&](auto number) {
    using T = decltype(number);
    const RuledSoftmax<T> work{rules, in<T>(biases), edges, in<T>(input), out<T>(output)};
    return each_row(launch.stream, work, rules.rows, rules.length);
  });
}

cudaError_t look_up_biases(Launch launch, const void* table, const std::int32_t* rows, void* biases, std::int64_t heads,
                           std::int64_t pairs) {
  return dispatch(launch.number, [&](auto number) {
    using T = decltype(number);
    return map<1>(launch.stream, LookUpBiases<T>{in<T>(table), rows, out<T>(biases), pairs, heads}, heads * pairs);
  });
}

cudaError_t table_gradient(Launch launch, const void* score_gradients, const std::int32_t* rows, float* table,
                           std::int64_t matrices, std::int64_t heads, std::int64_t pairs, float factor) {
  return dispatch(launch.number, [&](auto number) {
    using T = decltype(number);
    // There are enough blocks for a large device, and each has a minimum of work.
    constexpr std::int64_t wanted = 1024;
    constexpr std::int64_t least = 8;
    const std::int64_t columns = blocks(heads * pairs);
    const std::int64_t most = (matrices + least - 1) / least;
    const std::int64_t parts = wanted / columns < most ? wanted / columns : most;
    const dim3 grid(static_cast<unsigned>(columns), static_cast<unsigned>(parts > 1 ? parts : 1));
    DDL_LAUNCH(table_gradient_kernel<T>, grid, dim3(block), launch.stream, in<T>(score_gradients), rows, table, matrices,
               heads, pairs, factor);
    return cudaGetLastError();
  });
}

cudaError_t cut_windows(Launch launch, Cut cut, const void* image, void* windows) {
  return dispatch(launch.number, [&](auto number) {
    using T = decltype(number);
    return map_windows<T>(launch.stream, cut, [&](auto index) {
      return CutWindows<T, decltype(index)>{cut, in<T>(image), out<T>(windows)};
    });
  });
}

cudaError_t paste_windows(Launch launch, Cut cut, const void* windows, void* image) {
  return dispatch(launch.number, [&](auto number) {
    using T = decltype(number);
    return map_windows<T>(launch.stream, cut, [&](auto index) {
      return PasteWindows<T, decltype(index)>{cut, in<T>(windows), out<T>(image)};
    });
  });
}

cudaError_t weigh(Launch launch, const void* biases, std::int64_t features, bool normalized, float* v, float* length) {
  return dispatch(launch.number, [&](auto number) {
    using T = decltype(number);
    DDL_LAUNCH(weigh_kernel<T>, 1, block, launch.stream, in<T>(biases), features, normalized, v, length);
    return cudaGetLastError();
  });
}

cudaError_t additive_scores(Launch launch, Additive sizes, const void* queries, const void* keys, const void* biases,
                            const float* v, void* sums, void* scores) {
  return dispatch(launch.number, [&](auto number) {
    using T = decltype(number);
    const AdditiveScores<T> work{sizes, in<T>(queries), in<T>(keys), in<T>(biases), v, out<T>(sums), out<T>(scores)};
    return each_row(launch.stream, work, sizes.samples * sizes.queries * sizes.keys, sizes.features);
  });
}

cudaError_t additive_gradients(Launch launch, Additive sizes, const void* sums, const void* score_gradients, const float* v,
                               void* query_gradients, void* key_gradients, float* to_v) {
  return dispatch(launch.number, [&](auto number) {
    using T = decltype(number);
    const auto start = [&](auto kernel, std::int64_t rows, void* gradients) {
      const dim3 grid(static_cast<unsigned>(rows), warps(sizes.features));
      DDL_LAUNCH(kernel, grid, dim3(warp, lanes), launch.stream, sizes, in<T>(sums), in<T>(score_gradients), v,
                 out<T>(gradients), to_v);
      return cudaGetLastError();
    };
    const cudaError_t status = start(additive_gradient_kernel<T, true>, sizes.samples * sizes.queries, query_gradients);
    if (status != cudaSuccess) return status;
    return start(additive_gradient_kernel<T, false>, sizes.samples * sizes.keys, key_gradients);
  });
}

cudaError_t direction_gradient(Launch launch, const void* biases, const float* to_v, const float* length,
                               const void* to_bias, std::int64_t features, bool normalized, void* gradients) {
  return dispatch(launch.number, [&](auto number) {
    using T = decltype(number);
    DDL_LAUNCH(direction_gradient_kernel<T>, 1, block, launch.stream, in<T>(biases), to_v, length, in<T>(to_bias), features,
               normalized, out<T>(gradients));
    return cudaGetLastError();
  });
}

}  // namespace ddl::cuda::device
