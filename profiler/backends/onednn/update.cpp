#include <cmath>

#include "profiler/backends/onednn/kernels.hpp"

namespace ddl::onednn {

// One pass over the parameters with everything fused. Small steps, so that values stay finite however often it runs.
std::unique_ptr<PreparedKernel> prepare_update(const UpdateProblem& problem) {
  const std::int64_t count = problem.parameters;
  std::vector<KernelTensor> tensors{{TensorRole::weight, 0, count, true}, {TensorRole::weight_gradient, 0, count, false}};
  for (int slot = 0; slot < optimizer_slots(problem.optimizer); ++slot) {
    tensors.push_back({TensorRole::optimizer_state, slot, count, true});
  }
  constexpr float rate = 1e-3F;
  switch (timed_as(problem.optimizer)) {
    case Optimizer::sgd:
      return loop_kernel(std::move(tensors), [count](std::span<DeviceBuffer* const> buffers) {
        float* weight = floats(buffers[0]);
        const float* gradient = floats(buffers[1]);
        for (std::int64_t i = 0; i < count; ++i) weight[i] -= rate * gradient[i];
      });
    case Optimizer::momentum:
      return loop_kernel(std::move(tensors), [count](std::span<DeviceBuffer* const> buffers) {
        float* weight = floats(buffers[0]);
        const float* gradient = floats(buffers[1]);
        float* momentum = floats(buffers[2]);
        for (std::int64_t i = 0; i < count; ++i) {
          momentum[i] = 0.9F * momentum[i] + gradient[i];
          weight[i] -= rate * momentum[i];
        }
      });
    default:
      break;
  }
  // Kingma & Ba, "Adam", ICLR 2015, without the correction of the first steps, a factor that is worked out once a step.
  return loop_kernel(std::move(tensors), [count](std::span<DeviceBuffer* const> buffers) {
    float* weight = floats(buffers[0]);
    const float* gradient = floats(buffers[1]);
    float* first = floats(buffers[2]);
    float* second = floats(buffers[3]);
    for (std::int64_t i = 0; i < count; ++i) {
      first[i] = 0.9F * first[i] + 0.1F * gradient[i];
      second[i] = 0.999F * second[i] + 0.001F * gradient[i] * gradient[i];
      weight[i] -= rate * first[i] / (std::sqrt(second[i]) + 1e-8F);
    }
  });
}

}  // namespace ddl::onednn
