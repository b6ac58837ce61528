#include <algorithm>

#include "profiler/backends/onednn/kernels.hpp"

namespace ddl::onednn {
namespace {

std::unique_ptr<PreparedKernel> prepare_add(const Device& /*device*/, const Problem& problem) {
  if (problem.pass == Pass::backward_weight) return empty_kernel();
  const std::int64_t items = problem.samples * problem.output.items();
  const auto inputs = static_cast<int>(problem.inputs.size());
  std::vector<KernelTensor> tensors;
  if (problem.pass == Pass::forward) {
    for (int i = 0; i < inputs; ++i) tensors.push_back({TensorRole::input, i, items, false});
    tensors.push_back({TensorRole::output, 0, items, true});
    return loop_kernel(std::move(tensors), [items, inputs](std::span<DeviceBuffer* const> buffers) {
      float* to = floats(buffers.back());
      const float* first = floats(buffers[0]);
      const float* second = floats(buffers[1]);
      for (std::int64_t i = 0; i < items; ++i) to[i] = first[i] + second[i];
      for (int other = 2; other < inputs; ++other) {
        const float* from = floats(buffers[static_cast<std::size_t>(other)]);
        for (std::int64_t i = 0; i < items; ++i) to[i] += from[i];
      }
    });
  }
  // The gradient of each input of an addition equals the gradient of the output. If a tensor has several readers, their
  // gradients are added up. This kernel represents that addition, which moves about the same number of bytes.
  tensors.push_back({TensorRole::output_gradient, 0, items, false});
  for (int i = 0; i < inputs; ++i) tensors.push_back({TensorRole::input_gradient, i, items, true});
  return loop_kernel(std::move(tensors), [items](std::span<DeviceBuffer* const> buffers) {
    const float* from = floats(buffers[0]);
    for (DeviceBuffer* buffer : buffers.subspan(1)) std::copy_n(from, items, floats(buffer));
  });
}

}  // namespace

const Kind add{"add", only_fp32, prepare_add};

}  // namespace ddl::onednn
