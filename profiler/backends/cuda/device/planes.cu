#include "profiler/backends/cuda/device/image.cuh"

// Kernels that sum over the positions of each channel and sample: group and instance norms, root
// mean squares, and trained scales of channels.
namespace ddl::cuda::device {
namespace {

/// The mean and the sum of squares of a plane are computed relative to its first element, to avoid cancellation for large
/// numbers.
template <class T>
struct MomentTerms {
  Image image;
  const T* input;
  __device__ void add(std::int64_t sample, std::int64_t channel, std::int64_t item, float& first, float& second) const {
    const float away = to_float(input[item]) - to_float(input[item_of(image, sample, channel, 0)]);
    first += away;
    second += away * away;
  }
};
/// The terms of two sums over a plane in the gradient of a group norm: Σ dy, and Σ dy·x̂ with the normalized values x̂.
template <class T>
struct GroupGradientTerms {
  const T* input;
  const T* gradient;
  const float* means;
  const float* inverses;
  std::int64_t groups, members;
  __device__ void add(std::int64_t sample, std::int64_t channel, std::int64_t item, float& first, float& second) const {
    const std::int64_t group = sample * groups + channel / members;
    const float slope = to_float(gradient[item]);
    first += slope;
    second += slope * (to_float(input[item]) - means[group]) * inverses[group];
  }
};
/// The terms of GroupGradientTerms for rows of channels. Each row is divided by its own root mean square, or not normalized.
template <class T>
struct RowGradientTerms {
  const T* input;
  const T* gradient;
  const float* inverses;
  std::int64_t channels;
  __device__ void add(std::int64_t, std::int64_t, std::int64_t item, float& first, float& second) const {
    const float slope = to_float(gradient[item]);
    first += slope;
    second += slope * to_float(input[item]) * (inverses == nullptr ? 1.0F : inverses[item / channels]);
  }
};

/// Computes both sums of a plane for 32 innermost channels of a sample, over part blockIdx.z of the
/// positions. Writes two numbers per plane and part.
template <class Terms>
__global__ void plane_columns_kernel(Image image, Terms terms, float* partial) {
  __shared__ float firsts[lanes][warp];
  __shared__ float seconds[lanes][warp];
  const std::int64_t channel = static_cast<std::int64_t>(blockIdx.x) * warp + threadIdx.x;
  const std::int64_t sample = blockIdx.y;
  float first = 0;
  float second = 0;
  if (channel < image.channels) {
    for (std::int64_t position = static_cast<std::int64_t>(blockIdx.z) * lanes + threadIdx.y; position < image.positions;
         position += static_cast<std::int64_t>(gridDim.z) * lanes) {
      terms.add(sample, channel, item_of(image, sample, channel, position), first, second);
    }
  }
  firsts[threadIdx.y][threadIdx.x] = first;
  seconds[threadIdx.y][threadIdx.x] = second;
  __syncthreads();
  if (threadIdx.y != 0 || channel >= image.channels) return;
  for (unsigned row = 1; row < lanes; ++row) {
    first += firsts[row][threadIdx.x];
    second += seconds[row][threadIdx.x];
  }
  float* to = partial + 2 * ((blockIdx.z * image.samples + sample) * image.channels + channel);
  to[0] = first;
  to[1] = second;
}

/// Computes both sums of a plane with contiguous positions. Each row is one part of a plane.
template <class Terms>
struct PlaneRows {
  Image image;
  Terms terms;
  float* partial;
  std::int64_t parts;
  template <int threads>
  __device__ void run(std::int64_t row, unsigned lane) const {
    const std::int64_t planes = image.samples * image.channels;
    const std::int64_t plane = row % planes;
    const std::int64_t part = row / planes;
    const std::int64_t end = (part + 1) * image.positions / parts;
    float first = 0;
    float second = 0;
    for (std::int64_t position = part * image.positions / parts + lane; position < end; position += threads) {
      terms.add(plane / image.channels, plane % image.channels, plane * image.positions + position, first, second);
    }
    first = reduce<Sum, threads>(first);
    second = reduce<Sum, threads>(second);
    if (lane == 0) {
      partial[2 * row] = first;
      partial[2 * row + 1] = second;
    }
  }
};

int plane_parts(Image image) {
  // There are enough blocks for a large device, and each has a minimum of work.
  constexpr std::int64_t wanted = 1024;
  const std::int64_t blocks_of_one =
      image.channels_innermost ? warps(image.channels) * image.samples : image.channels * image.samples;
  const std::int64_t least = image.channels_innermost ? 8 * lanes : 4 * block;
  const std::int64_t most = (image.positions + least - 1) / least;
  const std::int64_t parts = wanted / blocks_of_one < most ? wanted / blocks_of_one : most;
  return static_cast<int>(parts > 1 ? parts : 1);
}

std::int64_t plane_scratch(Image image) { return 2 * plane_parts(image) * image.samples * image.channels; }

template <class Terms>
cudaError_t sum_planes(cudaStream_t stream, const Image& image, const Terms& terms, float* partial) {
  const int parts = plane_parts(image);
  if (!image.channels_innermost) {
    return each_row(stream, PlaneRows<Terms>{image, terms, partial, parts}, parts * image.samples * image.channels,
                    image.positions / parts);
  }
  const dim3 grid(warps(image.channels), static_cast<unsigned>(image.samples), static_cast<unsigned>(parts));
  DDL_LAUNCH(plane_columns_kernel<Terms>, grid, dim3(warp, lanes), stream, image, terms, partial);
  return cudaGetLastError();
}

struct PlaneSums {
  float first, second;
};
__device__ inline PlaneSums plane_sums(const float* partial, std::int64_t parts, std::int64_t planes, std::int64_t plane) {
  PlaneSums sums{0, 0};
  for (std::int64_t part = 0; part < parts; ++part) {
    sums.first += partial[2 * (part * planes + plane)];
    sums.second += partial[2 * (part * planes + plane) + 1];
  }
  return sums;
}

/// Combines the moments of a group's planes [Chan et al., "Algorithms for computing the sample variance", The American
/// Statistician 37, 1983].
template <class T>
struct GroupMoments {
  Image image;
  std::int64_t groups, members, parts;
  const T* input;
  const float* partial;
  float* means;
  float* inverses;
  float epsilon;
  template <int threads>
  __device__ void run(std::int64_t group, unsigned lane) const {
    const std::int64_t planes = image.samples * image.channels;
    const auto positions = static_cast<float>(image.positions);
    const auto plane_of = [&](std::int64_t member) { return group * members + member; };
    const auto mean_of = [&](std::int64_t plane, float sum) {
      const std::int64_t first = item_of(image, plane / image.channels, plane % image.channels, 0);
      return to_float(input[first]) + sum / positions;
    };
    float sum = 0;
    for (std::int64_t member = lane; member < members; member += threads) {
      const std::int64_t plane = plane_of(member);
      sum += mean_of(plane, plane_sums(partial, parts, planes, plane).first);
    }
    const float mean = reduce<Sum, threads>(sum) / static_cast<float>(members);
    float squares = 0;
    for (std::int64_t member = lane; member < members; member += threads) {
      const std::int64_t plane = plane_of(member);
      const PlaneSums sums = plane_sums(partial, parts, planes, plane);
      const float away = mean_of(plane, sums.first) - mean;
      squares += sums.second - sums.first * sums.first / positions + away * away * positions;
    }
    const float variance = reduce<Sum, threads>(squares) / (positions * static_cast<float>(members));
    if (lane == 0) {
      means[group] = mean;
      inverses[group] = rsqrtf(fmaxf(variance, 0) + epsilon);
    }
  }
};

/// The channels and groups of the elements of a vector. All elements share one long division.
template <int width>
struct PlaneOf {
  std::int64_t first_group;
  std::uint32_t first_channel, members;
  bool innermost;
  __device__ PlaneOf(const Image& image, std::int64_t groups, std::int64_t group_members, std::int64_t item)
      : members(static_cast<std::uint32_t>(group_members)), innermost(image.channels_innermost) {
    const std::int64_t plane = factor_of(image, item);
    first_group = plane / image.channels * groups;
    first_channel = static_cast<std::uint32_t>(plane % image.channels);
  }
  __device__ std::uint32_t channel(int i) const { return first_channel + (innermost ? static_cast<std::uint32_t>(i) : 0); }
  __device__ std::int64_t group(int i) const { return first_group + channel(i) / members; }
};

template <class T>
struct GroupNorm {
  Image image;
  std::int64_t groups, members;
  Trained trained;
  const T* input;
  const float* means;
  const float* inverses;
  T* output;
  template <int width>
  __device__ void run(std::int64_t item) const {
    Pack<T, width> pack = load<width>(input, item);
    const PlaneOf<width> plane(image, groups, members, item);
    for (int i = 0; i < width; ++i) {
      const std::int64_t group = plane.group(i);
      const float value = (to_float(pack.at[i]) - means[group]) * inverses[group];
      pack.at[i] = from_float<T>(value * scale_of(trained, plane.channel(i)) + shift_of(trained, plane.channel(i)));
    }
    store<width>(output, item, pack);
  }
};

/// Computes Σ dy·scale and Σ dy·scale·x̂ over the elements of each group.
struct GroupSlopes {
  std::int64_t planes, channels, members, parts;
  Trained trained;
  const float* partial;
  float* slopes;
  template <int threads>
  __device__ void run(std::int64_t group, unsigned lane) const {
    float first = 0;
    float second = 0;
    for (std::int64_t member = lane; member < members; member += threads) {
      const std::int64_t plane = group * members + member;
      const PlaneSums sums = plane_sums(partial, parts, planes, plane);
      first += sums.first * scale_of(trained, plane % channels);
      second += sums.second * scale_of(trained, plane % channels);
    }
    first = reduce<Sum, threads>(first);
    second = reduce<Sum, threads>(second);
    if (lane == 0) {
      slopes[2 * group] = first;
      slopes[2 * group + 1] = second;
    }
  }
};

template <class T>
struct GroupNormBackward {
  Image image;
  std::int64_t groups, members;
  Trained trained;
  const T* input;
  const float* means;
  const float* inverses;
  const float* slopes;
  const T* gradient;
  T* result;
  template <int width>
  __device__ void run(std::int64_t item) const {
    const Pack<T, width> x = load<width>(input, item);
    Pack<T, width> pack = load<width>(gradient, item);
    const PlaneOf<width> plane(image, groups, members, item);
    const float count = static_cast<float>(members) * static_cast<float>(image.positions);
    for (int i = 0; i < width; ++i) {
      const std::int64_t group = plane.group(i);
      const float value = (to_float(x.at[i]) - means[group]) * inverses[group];
      const float slope = to_float(pack.at[i]) * scale_of(trained, plane.channel(i));
      pack.at[i] = from_float<T>(inverses[group] * (slope - (slopes[2 * group] + value * slopes[2 * group + 1]) / count));
    }
    store<width>(result, item, pack);
  }
};

/// Sums a channel's gradients, and the products of gradients and values, over samples and parts.
template <class T>
struct SumSamples {
  const float* partial;
  std::int64_t samples, channels, parts;
  T* firsts;  ///< `firsts` or `seconds` may be null
  T* seconds;
  template <int width>
  __device__ void run(std::int64_t channel) const {
    float first = 0;
    float second = 0;
    for (std::int64_t plane = channel; plane < parts * samples * channels; plane += channels) {
      first += partial[2 * plane];
      second += partial[2 * plane + 1];
    }
    if (firsts != nullptr) firsts[channel] = from_float<T>(first);
    if (seconds != nullptr) seconds[channel] = from_float<T>(second);
  }
};

template <class T, int width>
struct RmsNorm {
  const T* input;
  Trained trained;
  float* inverses;
  T* output;
  std::int64_t channels;
  float epsilon;
  template <int threads>
  __device__ void run(std::int64_t row, unsigned lane) const {
    const std::int64_t start = row * channels;
    float squares = 0;
    for (std::int64_t c = lane * width; c < channels; c += threads * width) {
      const Pack<T, width> x = load<width>(input, start + c);
      for (int i = 0; i < width; ++i) squares += to_float(x.at[i]) * to_float(x.at[i]);
    }
    const float inverse = rsqrtf(reduce<Sum, threads>(squares) / static_cast<float>(channels) + epsilon);
    for (std::int64_t c = lane * width; c < channels; c += threads * width) {
      Pack<T, width> pack = load<width>(input, start + c);
      for (int i = 0; i < width; ++i) {
        pack.at[i] = from_float<T>(to_float(pack.at[i]) * inverse * scale_of(trained, c + i) + shift_of(trained, c + i));
      }
      store<width>(output, start + c, pack);
    }
    if (lane == 0) inverses[row] = inverse;
  }
};

/// With s = Σ dy·scale·x over the n channels: dx = (dy·scale - x·s/(n·root²))/root.
template <class T, int width>
struct RmsNormBackward {
  const T* input;
  Trained trained;
  const float* inverses;
  const T* gradient;
  T* result;
  std::int64_t channels;
  template <int threads>
  __device__ void run(std::int64_t row, unsigned lane) const {
    const std::int64_t start = row * channels;
    float sum = 0;
    for (std::int64_t c = lane * width; c < channels; c += threads * width) {
      const Pack<T, width> x = load<width>(input, start + c);
      const Pack<T, width> dy = load<width>(gradient, start + c);
      for (int i = 0; i < width; ++i) sum += to_float(dy.at[i]) * scale_of(trained, c + i) * to_float(x.at[i]);
    }
    const float inverse = inverses[row];
    const float slope = reduce<Sum, threads>(sum) * inverse * inverse / static_cast<float>(channels);
    for (std::int64_t c = lane * width; c < channels; c += threads * width) {
      const Pack<T, width> x = load<width>(input, start + c);
      Pack<T, width> pack = load<width>(gradient, start + c);
      for (int i = 0; i < width; ++i) {
        const float value = to_float(pack.at[i]) * scale_of(trained, c + i) - to_float(x.at[i]) * slope;
        pack.at[i] = from_float<T>(value * inverse);
      }
      store<width>(result, start + c, pack);
    }
  }
};

template <class T>
struct ScaleShift {
  Image image;
  const T* input;
  const T* factors;
  const T* shifts;  ///< null for a gradient
  T* output;
  template <int width>
  __device__ void run(std::int64_t item) const {
    Pack<T, width> pack = load<width>(input, item);
    const std::int64_t first = factor_of(image, item) % image.channels;
    for (int i = 0; i < width; ++i) {
      const std::int64_t channel = first + (image.channels_innermost ? i : 0);
      const float shift = shifts == nullptr ? 0.0F : to_float(shifts[channel]);
      pack.at[i] = from_float<T>(to_float(pack.at[i]) * to_float(factors[channel]) + shift);
    }
    store<width>(output, item, pack);
  }
};

/// For sums over all samples: if channels are innermost, treats all samples as one sample with the positions of all samples.
Image as_one_sample(const Image& image) {
  return image.channels_innermost ? Image{1, image.channels, image.samples * image.positions, true} : image;
}

}  // namespace

std::int64_t group_scratch(Image image, std::int64_t groups) { return plane_scratch(image) + 2 * image.samples * groups; }
std::int64_t channel_scratch(Image image) { return plane_scratch(as_one_sample(image)); }

cudaError_t group_norm(Launch launch, Image image, std::int64_t groups, const void* input, Trained trained, float* means,
                       float* inverse_deviations, void* output, float* scratch, float epsilon) {
  return dispatch(launch.number, [&](auto number) {
    using T = decltype(number);
    const std::int64_t members = image.channels / groups;
    cudaError_t status = sum_planes(launch.stream, image, MomentTerms<T>{image, in<T>(input)}, scratch);
    if (status != cudaSuccess) return status;
    const GroupMoments<T> moments{
        image, groups, members, plane_parts(image), in<T>(input), scratch, means, inverse_deviations, epsilon};
    status = each_row(launch.stream, moments, image.samples * groups, members);
    if (status != cudaSuccess) return status;
    const GroupNorm<T> norm{image, groups, members, trained, in<T>(input), means, inverse_deviations, out<T>(output)};
    return map_rows<whole_width<T>()>(launch.stream, norm, image.items(), length_of(image));
  });
}

cudaError_t group_norm_backward(Launch launch, Image image, std::int64_t groups, const void* input, Trained trained,
                                const float* means, const float* inverse_deviations, const void* output_gradient,
                                void* input_gradient, float* scale_gradient, float* shift_gradient, float* scratch) {
  return dispatch(launch.number, [&](auto number) {
    using T = decltype(number);
    const std::int64_t members = image.channels / groups;
    const std::int64_t planes = image.samples * image.channels;
    const int parts = plane_parts(image);
    float* const slopes = scratch + plane_scratch(image);
    const GroupGradientTerms<T> terms{in<T>(input), in<T>(output_gradient), means, inverse_deviations, groups, members};
    cudaError_t status = sum_planes(launch.stream, image, terms, scratch);
    if (status != cudaSuccess) return status;
    const GroupSlopes sums{planes, image.channels, members, parts, trained, scratch, slopes};
    status = each_row(launch.stream, sums, image.samples * groups, members);
    if (status != cudaSuccess) return status;
    const GroupNormBackward<T> backward{image,
                                        groups,
                                        members,
                                        trained,
                                        in<T>(input),
                                        means,
                                        inverse_deviations,
                                        slopes,
                                        in<T>(output_gradient),
                                        out<T>(input_gradient)};
    status = map_rows<whole_width<T>()>(launch.stream, backward, image.items(), length_of(image));
    if (status != cudaSuccess || (scale_gradient == nullptr && shift_gradient == nullptr)) return status;
    const SumSamples<float> samples{scratch, image.samples, image.channels, parts, shift_gradient, scale_gradient};
    return map<1>(launch.stream, samples, image.channels);
  });
}

cudaError_t rms_norm(Launch launch, const void* input, Trained trained, float* inverse_roots, void* output,
                     std::int64_t rows, std::int64_t channels, float epsilon) {
  return dispatch(launch.number, [&](auto number) {
    using T = decltype(number);
    constexpr int width = whole_width<T>();
    const T* from = in<T>(input);
    T* to = out<T>(output);
    return channels % width == 0
               ? each_row(launch.stream, RmsNorm<T, width>{from, trained, inverse_roots, to, channels, epsilon}, rows,
                          channels / width)
               : each_row(launch.stream, RmsNorm<T, 1>{from, trained, inverse_roots, to, channels, epsilon}, rows, channels);
  });
}

cudaError_t rms_norm_backward(Launch launch, const void* input, Trained trained, const float* inverse_roots,
                              const void* output_gradient, void* input_gradient, float* scale_gradient,
                              float* shift_gradient, float* scratch, std::int64_t rows, std::int64_t channels) {
  return dispatch(launch.number, [&](auto number) {
    using T = decltype(number);
    constexpr int width = whole_width<T>();
    const T* from = in<T>(input);
    const T* slopes = in<T>(output_gradient);
    T* to = out<T>(input_gradient);
    cudaError_t status =
        channels % width == 0
            ? each_row(launch.stream, RmsNormBackward<T, width>{from, trained, inverse_roots, slopes, to, channels}, rows,
                       channels / width)
            : each_row(launch.stream, RmsNormBackward<T, 1>{from, trained, inverse_roots, slopes, to, channels}, rows,
                       channels);
    if (status != cudaSuccess || (scale_gradient == nullptr && shift_gradient == nullptr)) return status;
    const Image all{1, channels, rows, true};
    const RowGradientTerms<T> terms{from, slopes, inverse_roots, channels};
    status = sum_planes(launch.stream, all, terms, scratch);
    if (status != cudaSuccess) return status;
    const SumSamples<float> sums{scratch, 1, channels, plane_parts(all), shift_gradient, scale_gradient};
    return map<1>(launch.stream, sums, channels);
  });
}

cudaError_t scale_shift(Launch launch, Image image, const void* input, const void* factors, const void* shifts,
                        void* output) {
  return dispatch(launch.number, [&](auto number) {
    using T = decltype(number);
    const ScaleShift<T> work{image, in<T>(input), in<T>(factors), in<T>(shifts), out<T>(output)};
    return map_rows<whole_width<T>()>(launch.stream, work, image.items(), length_of(image));
  });
}

cudaError_t scale_shift_gradients(Launch launch, Image image, const void* input, const void* output_gradient,
                                  void* factor_gradient, void* shift_gradient, float* scratch) {
  return dispatch(launch.number, [&](auto number) {
    using T = decltype(number);
    const Image whole = as_one_sample(image);
    const RowGradientTerms<T> terms{in<T>(input), in<T>(output_gradient), nullptr, image.channels};
    const cudaError_t status = sum_planes(launch.stream, whole, terms, scratch);
    if (status != cudaSuccess) return status;
    const SumSamples<T> sums{
        scratch, whole.samples, image.channels, plane_parts(whole), out<T>(shift_gradient), out<T>(factor_gradient)};
    return map<1>(launch.stream, sums, image.channels);
  });
}

}  // namespace ddl::cuda::device
