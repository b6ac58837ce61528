#include "profiler/backends/cuda/kernels.hpp"

namespace ddl::cuda {
namespace {

std::string refusal(const Problem& problem) {
  return problem.inputs.size() == 2 ? std::string() : "products of more than two tensors are not in this back end";
}

// The second input has as many items as the first, or one for each channel of each sample.
std::unique_ptr<PreparedKernel> prepare(const Device& device, const Problem& problem) {
  if (problem.pass == Pass::backward_weight) return empty_kernel();
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

const Kind multiply{"multiply", refusal, prepare};

}  // namespace ddl::cuda
