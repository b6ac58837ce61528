#include "profiler/backends/cuda/kernels.hpp"

namespace ddl::cuda {

// One fused pass over the parameters. In mixed precision the updated weights are in fp32, gradients are in 16 bits, and a
// 16-bit copy is written for the next step.
std::unique_ptr<PreparedKernel> prepare_update(const Device& device, const UpdateProblem& problem) {
  if (is_of_list(problem.implementation)) return prepare_update_list(device, problem);
  const std::int64_t count = problem.parameters;
  const Precision precision = problem.precision;
  const bool copies = is_mixed(precision);
  std::vector<KernelTensor> tensors{flat(TensorRole::weight, 0, count, true, Precision::fp32),
                                    flat(TensorRole::weight_gradient, 0, count, false, precision)};
  const int slots = optimizer_slots(problem.optimizer);
  for (int slot = 0; slot < slots; ++slot) {
    tensors.push_back(flat(TensorRole::optimizer_state, slot, count, true, Precision::fp32));
  }
  if (copies) tensors.push_back(flat(TensorRole::weight, 1, count, true, precision));
  const Optimizer timed = timed_as(problem.optimizer);
  const device::Step step = timed == Optimizer::sgd        ? device::Step::sgd
                            : timed == Optimizer::momentum ? device::Step::momentum
                                                           : device::Step::adam;
  return make_kernel("own:update", std::move(tensors), [=, &device](std::span<void* const> at) {
    const auto state = [&](int slot) {
      return slot < slots ? static_cast<float*>(at[2 + static_cast<std::size_t>(slot)]) : nullptr;
    };
    started(device::update(device.launch(precision), step, static_cast<float*>(at[0]), at[1], state(0), state(1),
                           copies ? at.back() : nullptr, count));
  });
}

}  // namespace ddl::cuda
