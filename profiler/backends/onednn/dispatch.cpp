#include <algorithm>

#include "profiler/backends/onednn/kernels.hpp"
#include "profiler/backends/onednn/routing.hpp"

namespace ddl::onednn {
namespace {

// The router's choice of experts has no gradient. `combine` computes the gradient of the weights of the chosen experts.
std::unique_ptr<PreparedKernel> prepare_dispatch(const Device& /*device*/, const Problem& problem) {
  if (problem.pass == Pass::backward_weight) return empty_kernel();
  const std::int64_t active = problem.operation->attribute_values().integer("active", 1);
  const std::int64_t experts = problem.inputs[1].channels;
  const std::int64_t channels = problem.output.channels;
  const std::int64_t rows = problem.samples * problem.inputs[0].positions();
  const std::int64_t copies = rows * active;
  const KernelTensor choice{TensorRole::input, 1, rows * experts, false};
  if (problem.pass == Pass::forward) {
    return loop_kernel(
        {{TensorRole::input, 0, rows * channels, false}, choice, {TensorRole::output, 0, copies * channels, true}},
        [=](std::span<DeviceBuffer* const> buffers) {
          const Routing routing(floats(buffers[1]), rows, experts, active);
          for (std::int64_t copy = 0; copy < copies; ++copy) {
            std::copy_n(floats(buffers[0]) + routing.token[static_cast<std::size_t>(copy)] * channels, channels,
                        floats(buffers[2]) + copy * channels);
          }
        });
  }
  return loop_kernel({choice,
                      {TensorRole::output_gradient, 0, copies * channels, false},
                      {TensorRole::input_gradient, 0, rows * channels, true}},
                     [=](std::span<DeviceBuffer* const> buffers) {
                       const Routing routing(floats(buffers[0]), rows, experts, active);
                       std::fill_n(floats(buffers[2]), rows * channels, 0.0F);
                       for (std::int64_t copy = 0; copy < copies; ++copy) {
                         const float* from = floats(buffers[1]) + copy * channels;
                         float* to = floats(buffers[2]) + routing.token[static_cast<std::size_t>(copy)] * channels;
                         for (std::int64_t c = 0; c < channels; ++c) to[c] += from[c];
                       }
                     });
}

}  // namespace

const Kind dispatch{"dispatch", only_fp32, prepare_dispatch};

}  // namespace ddl::onednn
