#include "profiler/backends/cuda/kernels.hpp"

namespace ddl::cuda {
namespace {

/// The product of several tensors of one shape, by pairwise products.
std::unique_ptr<PreparedKernel> prepare_many(const Device& device, const Problem& problem) {
  const Precision precision = problem.precision;
  const std::int64_t items = problem.samples * problem.output.items();
  const std::size_t inputs = problem.inputs.size();
  const bool forward = problem.pass == Pass::forward;
  const auto tensor = [&](TensorRole role, std::size_t index, bool written) {
    return flat(role, static_cast<int>(index), items, written, precision);
  };
  std::vector<KernelTensor> tensors;
  for (std::size_t i = 0; i < inputs; ++i) tensors.push_back(tensor(TensorRole::input, i, false));
  tensors.push_back(tensor(forward ? TensorRole::output : TensorRole::output_gradient, 0, forward));
  for (std::size_t i = 0; i < inputs && !forward; ++i) tensors.push_back(tensor(TensorRole::input_gradient, i, true));
  // Multiplies a tensor by all inputs except one, into `to`.
  const auto multiply_by = [=, &device](std::span<void* const> at, const void* from, std::size_t but, void* to) {
    for (std::size_t i = 0; i < inputs; ++i) {
      if (i == but) continue;
      started(device::multiply(device.launch(precision), from, at[i], to, items));
      from = to;
    }
  };
  return make_kernel("own:multiply", std::move(tensors), [=](std::span<void* const> at) {
    if (forward) {
      multiply_by(at, at[0], 0, at[inputs]);
      return;
    }
    for (std::size_t i = 0; i < inputs; ++i) multiply_by(at, at[inputs], i, at[inputs + 1 + i]);
  });
}

// The second input of a multiplication has as many elements as the first, or one element per channel of each sample.
std::unique_ptr<PreparedKernel> prepare_multiply(const Device& device, const Problem& problem) {
  if (problem.pass == Pass::backward_weight) return empty_kernel();
  if (problem.inputs.size() != 2) return prepare_many(device, problem);
  const Precision precision = problem.precision;
  const std::int64_t items = problem.samples * problem.output.items();
  const bool alike = problem.inputs[1].items() == problem.output.items();
  const device::Image image = image_of(device, problem.output, problem.samples);
  const auto tensor = [&](TensorRole role, int index, bool written) {
    return alike ? flat(role, index, items, written, precision)
                 : image_tensor(device, role, index, index == 0 ? problem.output : problem.inputs[1], problem, written);
  };
  const KernelTensor first = tensor(TensorRole::input, 0, false);
  const KernelTensor second = tensor(TensorRole::input, 1, false);
  if (problem.pass == Pass::forward) {
    return make_kernel("own:multiply", {first, second, tensor(TensorRole::output, 0, true)},
                       [=, &device](std::span<void* const> at) {
                         const device::Launch launch = device.launch(precision);
                         started(alike ? device::multiply(launch, at[0], at[1], at[2], items)
                                       : device::scale_channels(launch, image, at[0], at[1], at[2]));
                       });
  }
  return make_kernel("own:multiply",
                     {first, second, tensor(TensorRole::output_gradient, 0, false),
                      tensor(TensorRole::input_gradient, 0, true), tensor(TensorRole::input_gradient, 1, true)},
                     [=, &device](std::span<void* const> at) {
                       const device::Launch launch = device.launch(precision);
                       started(alike ? device::multiply_backward(launch, at[0], at[1], at[2], at[3], at[4], items)
                                     : device::scale_channels_backward(launch, image, at[0], at[1], at[2], at[3], at[4]));
                     });
}

}  // namespace

const Kind multiply{"multiply", no_refusal, prepare_multiply};

}  // namespace ddl::cuda
