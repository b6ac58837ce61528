#include <algorithm>

#include "profiler/backends/onednn/kernels.hpp"

namespace ddl::onednn {
namespace {

// Frameworks implement forward as a view, so predictions never use the time of forward. If forward
// is run anyway, it writes the dense tensor that other kernels read.
std::unique_ptr<PreparedKernel> prepare_slice(const Device& /*device*/, const Problem& problem) {
  if (problem.pass == Pass::backward_weight) return empty_kernel();
  const TensorShape& input = problem.inputs.front();
  // In images, channels come before positions; in sequences, after positions.
  const std::int64_t rows = problem.samples * (input.sequence ? input.positions() : 1);
  const std::int64_t in = problem.samples * input.items();
  const std::int64_t out = problem.samples * problem.output.items();
  const std::int64_t whole = in / rows;
  const std::int64_t part = out / rows;
  const std::int64_t start = problem.operation->attribute_values().integer("first", 0) * (whole / input.channels);
  if (problem.pass == Pass::forward) {
    return loop_kernel({{TensorRole::input, 0, in, false}, {TensorRole::output, 0, out, true}},
                       [=](std::span<DeviceBuffer* const> buffers) {
                         for (std::int64_t row = 0; row < rows; ++row) {
                           std::copy_n(floats(buffers[0]) + row * whole + start, part, floats(buffers[1]) + row * part);
                         }
                       });
  }
  return loop_kernel({{TensorRole::output_gradient, 0, out, false}, {TensorRole::input_gradient, 0, in, true}},
                     [=](std::span<DeviceBuffer* const> buffers) {
                       for (std::int64_t row = 0; row < rows; ++row) {
                         float* to = floats(buffers[1]) + row * whole;
                         std::fill_n(to, start, 0.0F);
                         std::copy_n(floats(buffers[0]) + row * part, part, to + start);
                         std::fill(to + start + part, to + whole, 0.0F);
                       }
                     });
}

}  // namespace

const Kind slice{"slice", only_fp32, prepare_slice};

}  // namespace ddl::onednn
