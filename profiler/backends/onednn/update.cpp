#include <algorithm>
#include <array>
#include <cmath>

#include "profiler/backends/onednn/kernels.hpp"

namespace ddl::onednn {
namespace {

using UpdateTensors = EnumArray<UpdateTensor, float*>;

/// Runs an operator on the first `count` elements of its tensors.
void run_pass(const UpdatePass& pass, const UpdateTensors& tensors, std::int64_t count) {
  float* const to = tensors[pass.to];
  const float* const a = tensors[pass.a];
  const float* const b = tensors[pass.b];
  const float factor = pass.factor;
  const auto each = [&](const auto& value) {
    for (std::int64_t i = 0; i < count; ++i) to[i] = value(i);
  };
  switch (pass.function) {
    case UpdatePass::Function::scale:
      return each([=](std::int64_t i) { return to[i] * factor; });
    case UpdatePass::Function::add:
      return each([=](std::int64_t i) { return to[i] + factor * a[i]; });
    case UpdatePass::Function::lerp:
      return each([=](std::int64_t i) { return to[i] + factor * (a[i] - to[i]); });
    case UpdatePass::Function::addcmul:
      return each([=](std::int64_t i) { return to[i] + factor * a[i] * b[i]; });
    case UpdatePass::Function::root:
      return each([=](std::int64_t i) { return std::sqrt(a[i]); });
    case UpdatePass::Function::shift:
      return each([=](std::int64_t i) { return to[i] + factor; });
    case UpdatePass::Function::addcdiv:
      return each([=](std::int64_t i) { return to[i] + factor * a[i] / b[i]; });
  }
}

/// Prepares an update by unfused operators. Each operator runs over all tensors, or all operators run over one tensor after
/// the other. The kernel's workspace contains the temporaries that a framework would allocate.
std::unique_ptr<PreparedKernel> prepare_passes(const Device& device, const UpdateProblem& problem,
                                               std::vector<KernelTensor> tensors) {
  const std::int64_t count = problem.parameters;
  const bool by_tensor = problem.implementation == UpdateImplementation::single;
  const std::int64_t of_each = (count + problem.tensors - 1) / problem.tensors;
  const std::int64_t temporaries =
      update_temporaries(timed_as(problem.optimizer), problem.implementation) * (by_tensor ? of_each : count);
  const std::span<const UpdatePass> passes = update_passes(problem.optimizer);
  const auto slots = static_cast<std::size_t>(optimizer_slots(problem.optimizer));
  return composed_kernel(
      device, "loop", std::move(tensors), temporaries, [=](std::span<DeviceBuffer* const> buffers, float* temporary) {
        const auto from = [&](std::int64_t begin) {
          UpdateTensors at{nullptr, floats(buffers[0]) + begin, floats(buffers[1]) + begin, nullptr, nullptr, temporary};
          for (std::size_t slot = 0; slot < slots; ++slot) at[3 + slot] = floats(buffers[2 + slot]) + begin;
          return at;
        };
        // The temporary of a tensor reuses the memory that the temporary of the previous tensor used.
        const std::int64_t step = by_tensor ? of_each : count;
        for (std::int64_t begin = 0; begin < count; begin += step) {
          for (const UpdatePass& pass : passes) run_pass(pass, from(begin), std::min(step, count - begin));
        }
      });
}

}  // namespace

// One fused pass over the parameters. The learning rate is small, so that values stay finite over any number of runs.
std::unique_ptr<PreparedKernel> prepare_update(const Device& device, const UpdateProblem& problem) {
  const std::int64_t count = problem.parameters;
  std::vector<KernelTensor> tensors{{TensorRole::weight, 0, count, true}, {TensorRole::weight_gradient, 0, count, false}};
  for (int slot = 0; slot < optimizer_slots(problem.optimizer); ++slot) {
    tensors.push_back({TensorRole::optimizer_state, slot, count, true});
  }
  if (problem.implementation == UpdateImplementation::single || problem.implementation == UpdateImplementation::foreach) {
    return prepare_passes(device, problem, std::move(tensors));
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
  // Kingma & Ba, "Adam", ICLR 2015, without the bias correction, which is a factor that is computed once per step.
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
