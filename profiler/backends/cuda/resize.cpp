#include "profiler/backends/cuda/kernels.hpp"

namespace ddl::cuda {
namespace {

std::unique_ptr<PreparedKernel> prepare_resize(const Device& device, const Problem& problem) {
  if (problem.pass == Pass::backward_weight) return empty_kernel();
  const bool forward = problem.pass == Pass::forward;
  const Precision precision = problem.precision;
  const TensorShape& input = problem.inputs.front();
  device::Resizing resizing;
  resizing.input = image_of(device, input, problem.samples);
  resizing.linear = problem.operation->attribute_values().text("kind") == "linear";
  for (std::size_t d = 0; d < 3; ++d) {
    resizing.in[d] = input.extent[d];
    resizing.out[d] = problem.output.extent[d];
  }
  if (forward) {
    return make_kernel("own:resize",
                       {image_tensor(device, TensorRole::input, 0, input, problem, false),
                        image_tensor(device, TensorRole::output, 0, problem.output, problem, true)},
                       [&device, resizing, precision](std::span<void* const> at) {
                         started(device::resize(device.launch(precision), resizing, at[0], at[1]));
                       });
  }
  return make_kernel("own:resize",
                     {image_tensor(device, TensorRole::output_gradient, 0, problem.output, problem, false),
                      image_tensor(device, TensorRole::input_gradient, 0, input, problem, true)},
                     [&device, resizing, precision](std::span<void* const> at) {
                       started(device::resize_backward(device.launch(precision), resizing, at[0], at[1]));
                     });
}

}  // namespace

const Kind resize{"resize", no_refusal, prepare_resize};

}  // namespace ddl::cuda
