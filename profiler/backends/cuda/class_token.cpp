#include "profiler/backends/cuda/kernels.hpp"

namespace ddl::cuda {
namespace {

// A class token: a trained token precedes the tokens of the sequence.
std::unique_ptr<PreparedKernel> prepare_class_token(const Device& device, const Problem& problem) {
  const std::int64_t token = problem.output.channels;
  const std::int64_t each = problem.inputs.front().items();
  const std::int64_t samples = problem.samples;
  const Precision precision = problem.precision;
  if (problem.pass == Pass::forward) {
    return make_kernel(
        "own:concat",
        {flat(TensorRole::input, 0, samples * each, false, precision), flat(TensorRole::bias, 0, token, false, precision),
         flat(TensorRole::output, 0, samples * (each + token), true, precision)},
        [=, &device](std::span<void* const> at) {
          started(device::prepend(device.launch(precision), at[1], token, at[0], each, samples, at[2]));
        });
  }
  const KernelTensor gradient = flat(TensorRole::output_gradient, 0, samples * (each + token), false, precision);
  if (problem.pass == Pass::backward_data) {
    const auto start = static_cast<std::size_t>(token) * (is_mixed(precision) ? 2 : 4);
    return make_kernel("own:copy", {gradient, flat(TensorRole::input_gradient, 0, samples * each, true, precision)},
                       [=, &device](std::span<void* const> at) {
                         started(device::copy_rows(device.launch(precision), static_cast<std::byte*>(at[0]) + start,
                                                   each + token, at[1], each, samples, each));
                       });
  }
  return make_kernel("own:sum", {gradient, flat(TensorRole::bias_gradient, 0, token, true, precision)},
                     [=, &device](std::span<void* const> at) {
                       started(device::sum_rows(device.launch(precision), at[0], each + token, samples, token, at[1]));
                     });
}

}  // namespace

const Kind class_token{"class_token", no_refusal, prepare_class_token};

}  // namespace ddl::cuda
