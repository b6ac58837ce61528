#include <algorithm>

#include "profiler/backends/onednn/kernels.hpp"

namespace ddl::onednn {
namespace {

/// The product of several tensors of one shape, by pairwise products.
std::unique_ptr<PreparedKernel> prepare_many(const Problem& problem) {
  const std::int64_t items = problem.samples * problem.output.items();
  const auto inputs = problem.inputs.size();
  const bool forward = problem.pass == Pass::forward;
  std::vector<KernelTensor> tensors;
  for (std::size_t i = 0; i < inputs; ++i) tensors.push_back({TensorRole::input, static_cast<int>(i), items, false});
  tensors.push_back({forward ? TensorRole::output : TensorRole::output_gradient, 0, items, forward});
  for (std::size_t i = 0; i < inputs && !forward; ++i) {
    tensors.push_back({TensorRole::input_gradient, static_cast<int>(i), items, true});
  }
  // Multiplies by all inputs except one.
  const auto multiply_by = [=](std::span<DeviceBuffer* const> buffers, std::size_t but, float* to) {
    for (std::size_t input = 0; input < inputs; ++input) {
      if (input == but) continue;
      const float* from = floats(buffers[input]);
      for (std::int64_t i = 0; i < items; ++i) to[i] *= from[i];
    }
  };
  return loop_kernel(std::move(tensors), [=](std::span<DeviceBuffer* const> buffers) {
    if (forward) {
      std::copy_n(floats(buffers[0]), items, floats(buffers[inputs]));
      multiply_by(buffers, 0, floats(buffers[inputs]));
      return;
    }
    for (std::size_t input = 0; input < inputs; ++input) {
      float* to = floats(buffers[inputs + 1 + input]);
      std::copy_n(floats(buffers[inputs]), items, to);
      multiply_by(buffers, input, to);
    }
  });
}

std::unique_ptr<PreparedKernel> prepare_multiply(const Device& /*device*/, const Problem& problem) {
  if (problem.pass == Pass::backward_weight) return empty_kernel();
  if (problem.inputs.size() != 2) return prepare_many(problem);
  // The second input of a multiplication has as many elements as the first, or one element per channel of each sample.
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

const Kind multiply{"multiply", only_fp32, prepare_multiply};

}  // namespace ddl::onednn
