#include "profiler/backends/cuda/kernels.hpp"

namespace ddl::cuda {
namespace {

std::unique_ptr<PreparedKernel> prepare_add(const Device& device, const Problem& problem) {
  if (problem.pass == Pass::backward_weight) return empty_kernel();
  const Precision precision = problem.precision;
  const std::int64_t items = problem.samples * problem.output.items();
  const std::size_t inputs = problem.inputs.size();
  std::vector<KernelTensor> tensors;
  if (problem.pass == Pass::forward) {
    for (std::size_t i = 0; i < inputs; ++i) {
      tensors.push_back(flat(TensorRole::input, static_cast<int>(i), items, false, precision));
    }
    tensors.push_back(flat(TensorRole::output, 0, items, true, precision));
    return make_kernel("own:add", std::move(tensors), [&device, items, inputs, precision](std::span<void* const> at) {
      const device::Launch launch = device.launch(precision);
      void* to = at[inputs];
      started(device::add(launch, at[0], at[1], to, items));
      for (std::size_t i = 2; i < inputs; ++i) started(device::add(launch, to, at[i], to, items));
    });
  }
  // The gradient of each input of an addition equals the gradient of the output. If a tensor has several readers, their
  // gradients are added up. This kernel represents that addition, which moves about the same number of bytes.
  tensors.push_back(flat(TensorRole::output_gradient, 0, items, false, precision));
  for (std::size_t i = 0; i < inputs; ++i) {
    tensors.push_back(flat(TensorRole::input_gradient, static_cast<int>(i), items, true, precision));
  }
  return make_kernel("own:copy", std::move(tensors), [&device, items, inputs, precision](std::span<void* const> at) {
    const device::Launch launch = device.launch(precision);
    for (std::size_t i = 1; i <= inputs; i += 2) {
      started(device::copy_twice(launch, at[0], at[i], at[i < inputs ? i + 1 : i], items));
    }
  });
}

}  // namespace

const Kind add{"add", no_refusal, prepare_add};

}  // namespace ddl::cuda
