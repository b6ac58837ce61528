#include "profiler/backends/onednn/kernels.hpp"

namespace ddl::onednn {
namespace {

std::string refusal(const Problem& problem) {
  if (problem.inputs.size() != 2) return "products of more than two tensors are not in this back end";
  return only_fp32(problem);
}

std::unique_ptr<PreparedKernel> prepare(const Device& /*device*/, const Problem& problem) {
  if (problem.pass == Pass::backward_weight) return empty_kernel();
  // The second input has as many items as the first, or one for each channel of each sample.
  const std::int64_t whole = problem.samples * problem.output.items();
  const std::int64_t factors = problem.samples * problem.inputs[1].items();
  const std::int64_t each = whole / factors;
  const KernelTensor first{TensorRole::input, 0, whole, false};
  const KernelTensor second{TensorRole::input, 1, factors, false};
  if (problem.pass == Pass::forward) {
    return loop_kernel({first, second, {TensorRole::output, 0, whole, true}},
                       [factors, each](std::span<DeviceBuffer* const> buffers) {
                         const float* a = floats(buffers[0]);
                         const float* b = floats(buffers[1]);
                         float* to = floats(buffers[2]);
                         if (each == 1) {
                           for (std::int64_t i = 0; i < factors; ++i) to[i] = a[i] * b[i];
                           return;
                         }
                         for (std::int64_t f = 0; f < factors; ++f) {
                           for (std::int64_t i = f * each; i < (f + 1) * each; ++i) to[i] = a[i] * b[f];
                         }
                       });
  }
  return loop_kernel({first,
                      second,
                      {TensorRole::output_gradient, 0, whole, false},
                      {TensorRole::input_gradient, 0, whole, true},
                      {TensorRole::input_gradient, 1, factors, true}},
                     [factors, each](std::span<DeviceBuffer* const> buffers) {
                       const float* a = floats(buffers[0]);
                       const float* b = floats(buffers[1]);
                       const float* gradient = floats(buffers[2]);
                       float* to_a = floats(buffers[3]);
                       float* to_b = floats(buffers[4]);
                       for (std::int64_t f = 0; f < factors; ++f) {
                         float sum = 0;
                         for (std::int64_t i = f * each; i < (f + 1) * each; ++i) {
                           to_a[i] = gradient[i] * b[f];
                           sum += gradient[i] * a[i];
                         }
                         to_b[f] = sum;
                       }
                     });
}

}  // namespace

const Kind multiply{"multiply", refusal, prepare};

}  // namespace ddl::onednn
