#include <algorithm>
#include <array>
#include <memory>

#include <fmt/format.h>

#include "profiler/backends/cuda/kernels.hpp"

namespace ddl::cuda {
namespace {

/// The sizes of a launch of PyTorch's multi-tensor kernels (aten/src/ATen/native/cuda/MultiTensorApply.cuh: kChunkSize,
/// depth_to_max_blocks and depth_to_max_tensors): the elements of a block, and the maximum numbers of blocks and of tensors.
/// The arguments must fit into 4 KB, so the number of tensors depends on how many tensors an operator has per parameter.
constexpr std::int64_t chunk = 65536;
constexpr std::int64_t blocks_of_a_launch = 320;
constexpr std::array<std::int64_t, 5> most_tensors{110, 64, 48, 36, 30};
/// PyTorch's allocator gives tensors memory in multiples of 512 bytes.
constexpr std::int64_t unit = 512 / static_cast<std::int64_t>(sizeof(float));

/// The list divided into consecutive launches.
std::vector<device::ListPart> launches_of(const UpdateProblem& problem, int depth) {
  const std::int64_t items = problem.parameters;
  const std::int64_t rounded = (items + problem.tensors - 1) / problem.tensors;
  const std::int64_t of_tensor = problem.tensors == 1 ? rounded : (rounded + unit - 1) / unit * unit;
  const std::int64_t tensors = (items + of_tensor - 1) / of_tensor;
  const std::int64_t chunks = (of_tensor + chunk - 1) / chunk;
  const std::int64_t last_chunks = (items - (tensors - 1) * of_tensor + chunk - 1) / chunk;
  const std::int64_t blocks = (tensors - 1) * chunks + last_chunks;
  // With lists of tensors, each launch contains as many tensors as possible. With single tensors,
  // each tensor has its own launches.
  const bool single = problem.implementation == UpdateImplementation::single;
  const std::int64_t by_tensors = (single ? 1 : most_tensors[static_cast<std::size_t>(depth) - 1]) * chunks;
  const std::int64_t step = single ? by_tensors : std::min(blocks_of_a_launch, by_tensors);
  std::vector<device::ListPart> launches;
  for (std::int64_t first = 0; first < blocks; first += step) {
    launches.push_back({items, of_tensor, chunk, first, std::min(step, blocks - first)});
  }
  return launches;
}

struct Launches {
  UpdatePass pass;
  std::vector<device::ListPart> parts;
};

device::ListFunction function_of(UpdatePass::Function function) {
  switch (function) {
    case UpdatePass::Function::scale:
      return device::ListFunction::scale;
    case UpdatePass::Function::add:
      return device::ListFunction::add;
    case UpdatePass::Function::lerp:
      return device::ListFunction::lerp;
    case UpdatePass::Function::addcmul:
      return device::ListFunction::addcmul;
    case UpdatePass::Function::root:
      return device::ListFunction::root;
    case UpdatePass::Function::shift:
      return device::ListFunction::shift;
    case UpdatePass::Function::addcdiv:
      break;
  }
  return device::ListFunction::addcdiv;
}

}  // namespace

// All tensors are consecutive, and each has the mean size.
std::unique_ptr<PreparedKernel> prepare_update_list(const Device& device, const UpdateProblem& problem) {
  const std::int64_t count = problem.parameters;
  std::vector<KernelTensor> tensors{flat(TensorRole::weight, 0, count, true, Precision::fp32),
                                    flat(TensorRole::weight_gradient, 0, count, false, Precision::fp32)};
  const auto slots = static_cast<std::size_t>(optimizer_slots(problem.optimizer));
  for (std::size_t slot = 0; slot < slots; ++slot) {
    tensors.push_back(flat(TensorRole::optimizer_state, static_cast<int>(slot), count, true, Precision::fp32));
  }
  const auto state = [slots](std::span<void* const> at, std::size_t slot) {
    return slot < slots ? static_cast<float*>(at[2 + slot]) : nullptr;
  };
  if (problem.implementation == UpdateImplementation::fused) {
    const Optimizer timed = timed_as(problem.optimizer);
    const device::Step step = timed == Optimizer::sgd        ? device::Step::sgd
                              : timed == Optimizer::momentum ? device::Step::momentum
                                                             : device::Step::adam;
    const std::vector<device::ListPart> launches = launches_of(problem, static_cast<int>(2 + slots));
    const std::string name = fmt::format("own:update_fused in {} launches", launches.size());
    return make_kernel(name, std::move(tensors), [=, &device](std::span<void* const> at) {
      for (const device::ListPart& part : launches) {
        started(device::list_update(device.stream, step, part, static_cast<float*>(at[0]), static_cast<const float*>(at[1]),
                                    state(at, 0), state(at, 1)));
      }
    });
  }
  std::vector<Launches> passes;
  std::size_t starts = 0;
  for (const UpdatePass& pass : update_passes(problem.optimizer)) {
    passes.push_back({pass, launches_of(problem, pass.tensors())});
    starts += passes.back().parts.size();
  }
  const std::size_t scratch =
      static_cast<std::size_t>(update_temporaries(timed_as(problem.optimizer), problem.implementation)) *
      static_cast<std::size_t>(count) * sizeof(float);
  const auto temporary = std::make_shared<DeviceMemory>(scratch);
  const std::string name = fmt::format("own:update_{} in {} launches", to_string(problem.implementation), starts);
  const auto run = [=, &device](std::span<void* const> at) {
    const EnumArray<UpdateTensor, float*> of{nullptr,
                                             static_cast<float*>(at[0]),
                                             static_cast<float*>(at[1]),
                                             state(at, 0),
                                             state(at, 1),
                                             static_cast<float*>(temporary->data())};
    const auto start = [&](const UpdatePass& pass, const device::ListPart& part) {
      started(device::list_pass(device.stream, function_of(pass.function), part, of[pass.to], of[pass.a], of[pass.b],
                                pass.factor));
    };
    if (problem.implementation == UpdateImplementation::single) {
      // Runs all operators on a tensor, then on the next tensor.
      for (std::size_t i = 0; i < passes.front().parts.size(); ++i) {
        for (const Launches& each : passes) start(each.pass, each.parts[i]);
      }
      return;
    }
    for (const Launches& each : passes) {
      for (const device::ListPart& part : each.parts) start(each.pass, part);
    }
  };
  return make_kernel(name, std::move(tensors), run, scratch);
}

}  // namespace ddl::cuda
