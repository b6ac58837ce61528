#include <algorithm>
#include <array>

#include "profiler/backends/onednn/kernels.hpp"

namespace ddl::onednn {
namespace {

/// The three extents of a shape. Shapes with fewer extents get ones in front.
std::array<std::int64_t, 3> inner_last(const TensorShape& shape) {
  std::array<std::int64_t, 3> extents{1, 1, 1};
  std::copy_n(shape.extent.begin(), shape.rank, extents.end() - shape.rank);
  return extents;
}

// Frameworks implement forward as a view, so predictions never use the time of forward. If forward
// is run anyway, it writes the dense tensor that other kernels read.
std::unique_ptr<PreparedKernel> prepare_crop(const Device& /*device*/, const Problem& problem) {
  if (problem.pass == Pass::backward_weight) return empty_kernel();
  const TensorShape& input = problem.inputs.front();
  const std::int64_t planes = problem.samples * input.channels;
  const std::int64_t in = planes * input.positions();
  const std::int64_t out = planes * problem.output.positions();
  const auto from = inner_last(input);
  const auto size = inner_last(problem.output);
  /// Calls `row` with the positions of each row in the whole tensor and in the crop.
  const auto each_row = [=](const auto& row) {
    std::array<std::int64_t, 3> first{};
    for (std::size_t d = 0; d < 3; ++d) first[d] = (from[d] - size[d]) / 2;
    for (std::int64_t plane = 0; plane < planes; ++plane) {
      for (std::int64_t d = 0; d < size[0]; ++d) {
        for (std::int64_t h = 0; h < size[1]; ++h) {
          row(((plane * from[0] + first[0] + d) * from[1] + first[1] + h) * from[2] + first[2],
              ((plane * size[0] + d) * size[1] + h) * size[2]);
        }
      }
    }
  };
  if (problem.pass == Pass::forward) {
    return loop_kernel({{TensorRole::input, 0, in, false}, {TensorRole::output, 0, out, true}},
                       [=](std::span<DeviceBuffer* const> buffers) {
                         each_row([&](std::int64_t whole, std::int64_t middle) {
                           std::copy_n(floats(buffers[0]) + whole, size[2], floats(buffers[1]) + middle);
                         });
                       });
  }
  return loop_kernel({{TensorRole::output_gradient, 0, out, false}, {TensorRole::input_gradient, 0, in, true}},
                     [=](std::span<DeviceBuffer* const> buffers) {
                       std::fill_n(floats(buffers[1]), in, 0.0F);
                       each_row([&](std::int64_t whole, std::int64_t middle) {
                         std::copy_n(floats(buffers[0]) + middle, size[2], floats(buffers[1]) + whole);
                       });
                     });
}

}  // namespace

const Kind crop{"crop", only_fp32, prepare_crop};

}  // namespace ddl::onednn
