#include <algorithm>

#include "profiler/backends/onednn/kernels.hpp"

namespace ddl::onednn {
namespace {

/// The row of the table for a token. Any number in the buffer gives a valid row.
std::int64_t row_of(float token, std::int64_t rows) {
  return std::clamp<std::int64_t>(static_cast<std::int64_t>(token), 0, rows - 1);
}

std::unique_ptr<PreparedKernel> prepare_embedding(const Device& /*device*/, const Problem& problem) {
  const std::int64_t rows = problem.operation->attribute_values().integer("vocabulary", 1);
  const std::int64_t features = problem.output.channels;
  const std::int64_t tokens = problem.samples * problem.output.positions();
  const KernelTensor input{TensorRole::input, 0, tokens, false};
  if (problem.pass == Pass::forward) {
    return loop_kernel(
        {input, {TensorRole::weight, 0, rows * features, false}, {TensorRole::output, 0, tokens * features, true}},
        [=](std::span<DeviceBuffer* const> buffers) {
          const float* table = floats(buffers[1]);
          float* to = floats(buffers[2]);
          for (std::int64_t t = 0; t < tokens; ++t) {
            std::copy_n(table + row_of(floats(buffers[0])[t], rows) * features, features, to + t * features);
          }
        });
  }
  if (problem.pass != Pass::backward_weight) return empty_kernel();
  return loop_kernel({input,
                      {TensorRole::output_gradient, 0, tokens * features, false},
                      {TensorRole::weight_gradient, 0, rows * features, true}},
                     [=](std::span<DeviceBuffer* const> buffers) {
                       const float* from = floats(buffers[1]);
                       float* table = floats(buffers[2]);
                       std::fill_n(table, rows * features, 0.0F);
                       for (std::int64_t t = 0; t < tokens; ++t) {
                         float* row = table + row_of(floats(buffers[0])[t], rows) * features;
                         for (std::int64_t f = 0; f < features; ++f) row[f] += from[t * features + f];
                       }
                     });
}

}  // namespace

const Kind embedding{"embedding", only_fp32, prepare_embedding};

}  // namespace ddl::onednn
