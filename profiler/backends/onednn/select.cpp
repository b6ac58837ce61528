#include <algorithm>

#include "profiler/backends/onednn/kernels.hpp"

namespace ddl::onednn {
namespace {

std::unique_ptr<PreparedKernel> prepare_select(const Device& /*device*/, const Problem& problem) {
  if (problem.pass == Pass::backward_weight) return empty_kernel();
  const std::int64_t each = problem.inputs.front().items();
  const std::int64_t channels = problem.output.channels;
  const std::int64_t samples = problem.samples;
  const std::int64_t start = problem.operation->attribute_values().text("token") == "last" ? each - channels : 0;
  if (problem.pass == Pass::forward) {
    return loop_kernel({{TensorRole::input, 0, samples * each, false}, {TensorRole::output, 0, samples * channels, true}},
                       [=](std::span<DeviceBuffer* const> buffers) {
                         for (std::int64_t s = 0; s < samples; ++s) {
                           std::copy_n(floats(buffers[0]) + s * each + start, channels, floats(buffers[1]) + s * channels);
                         }
                       });
  }
  return loop_kernel(
      {{TensorRole::output_gradient, 0, samples * channels, false}, {TensorRole::input_gradient, 0, samples * each, true}},
      [=](std::span<DeviceBuffer* const> buffers) {
        float* to = floats(buffers[1]);
        std::fill_n(to, samples * each, 0.0F);
        for (std::int64_t s = 0; s < samples; ++s) {
          std::copy_n(floats(buffers[0]) + s * channels, channels, to + s * each + start);
        }
      });
}

}  // namespace

const Kind select{"select", only_fp32, prepare_select};

}  // namespace ddl::onednn
