#include <algorithm>
#include <cmath>

#include "profiler/backends/onednn/norms.hpp"

namespace ddl::onednn {
namespace {

struct Moments {
  float mean, inverse;  ///< inverse: one over the deviation
};

/// Computes the mean and the moments of a block of elements, in two passes. fp32 is precise enough for
/// sums of a block, but not for sums of a volume.
[[gnu::target_clones("avx512f", "avx2", "default")]] Moments moments_of(const float* x, std::int64_t items) {
  constexpr std::int64_t block = 4096;
  double total = 0;
  for (std::int64_t first = 0; first < items; first += block) {
    const std::int64_t end = std::min(items, first + block);
    float sum = 0;
#pragma omp simd reduction(+ : sum)
    for (std::int64_t i = first; i < end; ++i) sum += x[i];
    total += static_cast<double>(sum);
  }
  const auto mean = static_cast<float>(total / static_cast<double>(items));
  double squares = 0;
  for (std::int64_t first = 0; first < items; first += block) {
    const std::int64_t end = std::min(items, first + block);
    float sum = 0;
#pragma omp simd reduction(+ : sum)
    for (std::int64_t i = first; i < end; ++i) sum += (x[i] - mean) * (x[i] - mean);
    squares += static_cast<double>(sum);
  }
  return {mean, 1 / std::sqrt(static_cast<float>(squares / static_cast<double>(items)) + norm_epsilon)};
}

[[gnu::target_clones("avx512f", "avx2", "default")]] void scale_shift(const float* x, float factor, float offset, float* y,
                                                                      std::int64_t items) {
#pragma omp simd
  for (std::int64_t i = 0; i < items; ++i) y[i] = x[i] * factor + offset;
}

struct Sums {
  float products, gradients;
};
/// Σ dy·(x − mean) and Σ dy.
[[gnu::target_clones("avx512f", "avx2", "default")]] Sums sums_of(const float* x, const float* dy, float mean,
                                                                  std::int64_t items) {
  float products = 0, gradients = 0;
#pragma omp simd reduction(+ : products, gradients)
  for (std::int64_t i = 0; i < items; ++i) {
    products += dy[i] * (x[i] - mean);
    gradients += dy[i];
  }
  return {products, gradients};
}

[[gnu::target_clones("avx512f", "avx2", "default")]] void gradient_of(const float* x, const float* dy, float factor,
                                                                      float slope, float offset, float* dx,
                                                                      std::int64_t items) {
#pragma omp simd
  for (std::int64_t i = 0; i < items; ++i) dx[i] = dy[i] * factor - x[i] * slope - offset;
}

}  // namespace

// The channels of each sample and group are contiguous. For an instance norm, each channel is a group. The gradient is
// computed as for a batch norm over the elements of one group. With s = Σ dy·scale·x̂ and t = Σ dy·scale: dx = (dy·scale −
// t/n − x̂·s/n)/deviation [Wu and He, Group Normalization, ECCV 2018].
std::unique_ptr<PreparedKernel> prepare_group_norm(const Problem& problem) {
  // This pass is empty, because backward-data also computes the gradients of scale and shift.
  if (problem.pass == Pass::backward_weight) return empty_kernel();
  const NormParameters parameters(problem);
  const std::int64_t channels = problem.output.channels;
  const AttributeValues attributes = problem.operation->attribute_values();
  const std::int64_t groups = attributes.text("kind") == "group" ? attributes.integer("groups", 1) : channels;
  const std::int64_t positions = problem.output.positions();
  const std::int64_t members = channels / groups;
  const std::int64_t count = problem.samples * groups;
  const std::int64_t items = problem.samples * problem.output.items();
  const bool forward = problem.pass == Pass::forward;
  std::vector<KernelTensor> tensors{{TensorRole::input, 0, items, false},
                                    {TensorRole::kept, 0, count, forward},
                                    {TensorRole::kept, 1, count, forward},
                                    {forward ? TensorRole::output : TensorRole::output_gradient, 0, items, forward}};
  if (!forward) tensors.push_back({TensorRole::input_gradient, 0, items, true});
  const bool trained = parameters.items() > 0;
  if (trained) tensors.push_back({TensorRole::bias, 0, parameters.items(), false});
  if (trained && !forward) tensors.push_back({TensorRole::bias_gradient, 0, parameters.items(), true});
  if (forward) {
    return loop_kernel(std::move(tensors), [=](std::span<DeviceBuffer* const> buffers) {
      const float* scales = trained ? parameters.scales(floats(buffers[4])) : nullptr;
      const float* shifts = trained ? parameters.shifts(floats(buffers[4])) : nullptr;
#pragma omp parallel for
      for (std::int64_t i = 0; i < count; ++i) {
        const std::int64_t at = i * members * positions;
        const Moments moments = moments_of(floats(buffers[0]) + at, members * positions);
        floats(buffers[1])[i] = moments.mean;
        floats(buffers[2])[i] = moments.inverse;
        for (std::int64_t m = 0; m < members; ++m) {
          const std::int64_t c = i % groups * members + m;
          const float factor = moments.inverse * (scales == nullptr ? 1 : scales[c]);
          scale_shift(floats(buffers[0]) + at + m * positions, factor,
                      (shifts == nullptr ? 0 : shifts[c]) - moments.mean * factor, floats(buffers[3]) + at + m * positions,
                      positions);
        }
      }
    });
  }
  return loop_kernel(std::move(tensors), [=](std::span<DeviceBuffer* const> buffers) {
    const float* scales = trained ? parameters.scales(floats(buffers[5])) : nullptr;
    float* to_scales = trained ? parameters.scales(floats(buffers[6])) : nullptr;
    float* to_shifts = trained ? parameters.shifts(floats(buffers[6])) : nullptr;
    if (trained) std::fill_n(floats(buffers[6]), parameters.items(), 0.0F);
    // Groups of a sample share no channel, so their sums are independent.
    for (std::int64_t sample = 0; sample < problem.samples; ++sample) {
#pragma omp parallel for
      for (std::int64_t g = 0; g < groups; ++g) {
        const std::int64_t i = sample * groups + g;
        const std::int64_t at = i * members * positions;
        const float mean = floats(buffers[1])[i];
        const float inverse = floats(buffers[2])[i];
        float s = 0, t = 0;
        for (std::int64_t m = 0; m < members; ++m) {
          const std::int64_t c = g * members + m;
          const std::int64_t plane = at + m * positions;
          const Sums sums = sums_of(floats(buffers[0]) + plane, floats(buffers[3]) + plane, mean, positions);
          if (to_scales != nullptr) to_scales[c] += sums.products * inverse;
          if (to_shifts != nullptr) to_shifts[c] += sums.gradients;
          const float factor = scales == nullptr ? 1 : scales[c];
          s += sums.products * inverse * factor;
          t += sums.gradients * factor;
        }
        const auto n = static_cast<float>(members * positions);
        const float slope = inverse * inverse * s / n;
        for (std::int64_t m = 0; m < members; ++m) {
          const std::int64_t plane = at + m * positions;
          gradient_of(floats(buffers[0]) + plane, floats(buffers[3]) + plane,
                      inverse * (scales == nullptr ? 1 : scales[g * members + m]), slope, inverse * t / n - mean * slope,
                      floats(buffers[4]) + plane, positions);
        }
      }
    }
  });
}

}  // namespace ddl::onednn
