#include <algorithm>

#include "profiler/backends/onednn/kernels.hpp"
#include "profiler/backends/onednn/routing.hpp"

namespace ddl::onednn {
namespace {

[[gnu::target_clones("avx512f", "avx2", "default")]] void add_weighted(const float* from, float weight, float* to,
                                                                       std::int64_t channels) {
#pragma omp simd
  for (std::int64_t c = 0; c < channels; ++c) to[c] += weight * from[c];
}

/// Computes the gradient of a copy, and returns the gradient of its weight.
[[gnu::target_clones("avx512f", "avx2", "default")]] float gradients_of(const float* gradient, const float* from,
                                                                        float weight, float* to, std::int64_t channels) {
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::int64_t c = 0; c < channels; ++c) {
    to[c] = weight * gradient[c];
    sum += gradient[c] * from[c];
  }
  return sum;
}

std::unique_ptr<PreparedKernel> prepare_combine(const Device& /*device*/, const Problem& problem) {
  if (problem.pass == Pass::backward_weight) return empty_kernel();
  const std::int64_t experts = problem.inputs[1].channels;
  const std::int64_t channels = problem.output.channels;
  const std::int64_t rows = problem.samples * problem.output.positions();
  const std::int64_t copies = problem.samples * problem.inputs[0].positions();
  const std::int64_t active = copies / rows;
  std::vector<KernelTensor> tensors{{TensorRole::input, 0, copies * channels, false},
                                    {TensorRole::input, 1, rows * experts, false}};
  if (problem.pass == Pass::forward) {
    tensors.push_back({TensorRole::output, 0, rows * channels, true});
    return loop_kernel(std::move(tensors), [=](std::span<DeviceBuffer* const> buffers) {
      const float* weights = floats(buffers[1]);
      const Routing routing(weights, rows, experts, active);
      std::fill_n(floats(buffers[2]), rows * channels, 0.0F);
      for (std::int64_t copy = 0; copy < copies; ++copy) {
        const std::int64_t row = routing.token[static_cast<std::size_t>(copy)];
        add_weighted(floats(buffers[0]) + copy * channels,
                     weights[row * experts + routing.expert[static_cast<std::size_t>(copy)]],
                     floats(buffers[2]) + row * channels, channels);
      }
    });
  }
  tensors.push_back({TensorRole::output_gradient, 0, rows * channels, false});
  tensors.push_back({TensorRole::input_gradient, 0, copies * channels, true});
  tensors.push_back({TensorRole::input_gradient, 1, rows * experts, true});
  return loop_kernel(std::move(tensors), [=](std::span<DeviceBuffer* const> buffers) {
    const float* weights = floats(buffers[1]);
    const Routing routing(weights, rows, experts, active);
    std::fill_n(floats(buffers[4]), rows * experts, 0.0F);
    for (std::int64_t copy = 0; copy < copies; ++copy) {
      const std::int64_t row = routing.token[static_cast<std::size_t>(copy)];
      const std::int64_t weight = row * experts + routing.expert[static_cast<std::size_t>(copy)];
      floats(buffers[4])[weight] = gradients_of(floats(buffers[2]) + row * channels, floats(buffers[0]) + copy * channels,
                                                weights[weight], floats(buffers[3]) + copy * channels, channels);
    }
  });
}

// A token can have at most as many copies as there are experts.
std::string refusal_combine(const Problem& problem) {
  if (problem.inputs[0].extent[0] / problem.inputs[1].extent[0] > problem.inputs[1].channels) {
    return "more copies of a token than experts are not supported by this back end";
  }
  return only_fp32(problem);
}

}  // namespace

const Kind combine{"combine", refusal_combine, prepare_combine};

}  // namespace ddl::onednn
