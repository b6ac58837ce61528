#include <algorithm>

#include "profiler/backends/onednn/kernels.hpp"

namespace ddl::onednn {
namespace {

std::unique_ptr<PreparedKernel> prepare_position_embedding(const Device& /*device*/, const Problem& problem) {
  const std::int64_t each = problem.output.items();  // rows of the table: the positions of the sequence
  const std::int64_t table = problem.operation->attribute_values().integer("positions", 1) * problem.output.channels;
  const std::int64_t samples = problem.samples;
  const std::int64_t items = samples * each;
  if (problem.pass == Pass::forward) {
    return loop_kernel(
        {{TensorRole::input, 0, items, false}, {TensorRole::weight, 0, table, false}, {TensorRole::output, 0, items, true}},
        [=](std::span<DeviceBuffer* const> buffers) {
          for (std::int64_t s = 0; s < samples; ++s) {
            const float* from = floats(buffers[0]) + s * each;
            const float* rows = floats(buffers[1]);
            float* to = floats(buffers[2]) + s * each;
            for (std::int64_t i = 0; i < each; ++i) to[i] = from[i] + rows[i];
          }
        });
  }
  if (problem.pass == Pass::backward_data) {
    // Backward-data copies the gradient unchanged.
    return loop_kernel(
        {{TensorRole::output_gradient, 0, items, false}, {TensorRole::input_gradient, 0, items, true}},
        [=](std::span<DeviceBuffer* const> buffers) { std::copy_n(floats(buffers[0]), items, floats(buffers[1])); });
  }
  return loop_kernel({{TensorRole::output_gradient, 0, items, false}, {TensorRole::weight_gradient, 0, table, true}},
                     [=](std::span<DeviceBuffer* const> buffers) {
                       float* rows = floats(buffers[1]);
                       std::fill_n(rows, table, 0.0F);
                       for (std::int64_t s = 0; s < samples; ++s) {
                         const float* from = floats(buffers[0]) + s * each;
                         for (std::int64_t i = 0; i < each; ++i) rows[i] += from[i];
                       }
                     });
}

}  // namespace

const Kind position_embedding{"position_embedding", only_fp32, prepare_position_embedding};

}  // namespace ddl::onednn
