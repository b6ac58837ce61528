#include <algorithm>

#include "profiler/backends/onednn/kernels.hpp"

namespace ddl::onednn {
namespace {

// A class token: a trained token precedes the tokens of the sequence.
std::unique_ptr<PreparedKernel> prepare_class_token(const Device& /*device*/, const Problem& problem) {
  const std::int64_t token = problem.output.channels;
  const std::int64_t each = problem.inputs.front().items();
  const std::int64_t samples = problem.samples;
  const std::int64_t in = samples * each;
  const std::int64_t out = samples * (each + token);
  if (problem.pass == Pass::forward) {
    return loop_kernel(
        {{TensorRole::input, 0, in, false}, {TensorRole::bias, 0, token, false}, {TensorRole::output, 0, out, true}},
        [=](std::span<DeviceBuffer* const> buffers) {
          for (std::int64_t s = 0; s < samples; ++s) {
            float* to = floats(buffers[2]) + s * (each + token);
            std::copy_n(floats(buffers[1]), token, to);
            std::copy_n(floats(buffers[0]) + s * each, each, to + token);
          }
        });
  }
  const KernelTensor gradient{TensorRole::output_gradient, 0, out, false};
  if (problem.pass == Pass::backward_data) {
    return loop_kernel({gradient, {TensorRole::input_gradient, 0, in, true}}, [=](std::span<DeviceBuffer* const> buffers) {
      for (std::int64_t s = 0; s < samples; ++s) {
        std::copy_n(floats(buffers[0]) + s * (each + token) + token, each, floats(buffers[1]) + s * each);
      }
    });
  }
  return loop_kernel({gradient, {TensorRole::bias_gradient, 0, token, true}}, [=](std::span<DeviceBuffer* const> buffers) {
    float* sum = floats(buffers[1]);
    std::fill_n(sum, token, 0.0F);
    for (std::int64_t s = 0; s < samples; ++s) {
      const float* from = floats(buffers[0]) + s * (each + token);
      for (std::int64_t i = 0; i < token; ++i) sum[i] += from[i];
    }
  });
}

}  // namespace

const Kind class_token{"class_token", only_fp32, prepare_class_token};

}  // namespace ddl::onednn
