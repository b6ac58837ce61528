#include "profiler/backends/onednn/blas_kernels.hpp"

#include <algorithm>

#include "profiler/backends/onednn/blas.hpp"
#include "profiler/backends/window_geometry.hpp"

namespace ddl::onednn {
namespace {

using Buffers = std::span<DeviceBuffer* const>;

constexpr const char* algorithm = "cblas_sgemm";

/// Adds up rows of `columns` elements.
void sum_rows(const float* rows, std::int64_t count, std::int64_t columns, float* sums) {
  std::fill_n(sums, columns, 0.0F);
  for (std::int64_t r = 0; r < count; ++r) {
    const float* row = rows + r * columns;
    for (std::int64_t i = 0; i < columns; ++i) sums[i] += row[i];
  }
}

}  // namespace

std::unique_ptr<PreparedKernel> prepare_blas_fully_connected(const Device& device, const Problem& problem) {
  const std::int64_t rows = problem.samples * problem.inputs.front().positions();
  const std::int64_t from = problem.inputs.front().channels;
  const std::int64_t to = problem.output.channels;
  const bool has_bias = problem.operation->attribute_values().flag("bias", true);
  const KernelTensor input{TensorRole::input, 0, rows * from, false};
  const KernelTensor weight{TensorRole::weight, 0, to * from, false};
  const KernelTensor gradient{TensorRole::output_gradient, 0, rows * to, false};
  const std::shared_ptr<const Blas> blas = device.blas;
  std::vector<KernelTensor> tensors;
  switch (problem.pass) {
    case Pass::forward:
      tensors = {input, weight, {TensorRole::output, 0, rows * to, true}};
      if (has_bias) tensors.push_back({TensorRole::bias, 0, to, false});
      return composed_kernel(device, algorithm, std::move(tensors), 0, [=](Buffers buffers, float* /*scratch*/) {
        float* const out = floats(buffers[2]);
        if (has_bias) {
          for (std::int64_t r = 0; r < rows; ++r) std::copy_n(floats(buffers[3]), to, out + r * to);
        }
        blas->product({.b_transposed = true, .adds = has_bias}, rows, to, from, floats(buffers[0]), floats(buffers[1]), out);
      });
    case Pass::backward_data:
      tensors = {gradient, weight, {TensorRole::input_gradient, 0, rows * from, true}};
      return composed_kernel(device, algorithm, std::move(tensors), 0, [=](Buffers buffers, float* /*scratch*/) {
        blas->product({}, rows, from, to, floats(buffers[0]), floats(buffers[1]), floats(buffers[2]));
      });
    default:
      tensors = {input, gradient, {TensorRole::weight_gradient, 0, to * from, true}};
      if (has_bias) tensors.push_back({TensorRole::bias_gradient, 0, to, true});
      return composed_kernel(device, algorithm, std::move(tensors), 0, [=](Buffers buffers, float* /*scratch*/) {
        blas->product({.a_transposed = true}, to, from, rows, floats(buffers[1]), floats(buffers[0]), floats(buffers[2]));
        if (has_bias) sum_rows(floats(buffers[1]), rows, to, floats(buffers[3]));
      });
  }
}

bool is_product_of_framework(const Device& device, const Problem& problem) {
  constexpr std::int64_t fewest_samples_of_onednn = 16;
  const TensorShape& input = problem.inputs.front();
  if (device.blas == nullptr || device.threads > 1 || problem.precision != Precision::fp32 || input.sequence ||
      problem.samples >= fewest_samples_of_onednn || problem.operation->attribute_values().integer("groups", 1) > 1) {
    return false;
  }
  const WindowGeometry window = window_geometry(*problem.operation, input, problem.output);
  for (std::size_t d = 0; d < static_cast<std::size_t>(input.rank); ++d) {
    if (window.kernel[d] != 1 || window.stride[d] != 1 || window.before[d] != 0 || window.after[d] != 0) return false;
  }
  return true;
}

std::unique_ptr<PreparedKernel> prepare_blas_convolution(const Device& device, const Problem& problem) {
  const std::int64_t samples = problem.samples;
  const std::int64_t positions = problem.output.positions();
  const std::int64_t from = problem.inputs.front().channels;
  const std::int64_t to = problem.output.channels;
  const bool has_bias = problem.operation->attribute_values().flag("bias", true);
  const KernelTensor input{TensorRole::input, 0, samples * from * positions, false};
  const KernelTensor weight{TensorRole::weight, 0, to * from, false};
  const KernelTensor gradient{TensorRole::output_gradient, 0, samples * to * positions, false};
  const std::shared_ptr<const Blas> blas = device.blas;
  std::vector<KernelTensor> tensors;
  switch (problem.pass) {
    case Pass::forward:
      tensors = {input, weight, {TensorRole::output, 0, samples * to * positions, true}};
      if (has_bias) tensors.push_back({TensorRole::bias, 0, to, false});
      return composed_kernel(device, algorithm, std::move(tensors), 0, [=](Buffers buffers, float* /*scratch*/) {
        for (std::int64_t s = 0; s < samples; ++s) {
          float* const out = floats(buffers[2]) + s * to * positions;
          for (std::int64_t c = 0; has_bias && c < to; ++c) {
            std::fill_n(out + c * positions, positions, floats(buffers[3])[c]);
          }
          blas->product({.adds = has_bias}, to, positions, from, floats(buffers[1]),
                        floats(buffers[0]) + s * from * positions, out);
        }
      });
    case Pass::backward_data:
      tensors = {gradient, weight, {TensorRole::input_gradient, 0, samples * from * positions, true}};
      return composed_kernel(device, algorithm, std::move(tensors), 0, [=](Buffers buffers, float* /*scratch*/) {
        for (std::int64_t s = 0; s < samples; ++s) {
          blas->product({.a_transposed = true}, from, positions, to, floats(buffers[1]),
                        floats(buffers[0]) + s * to * positions, floats(buffers[2]) + s * from * positions);
        }
      });
    default:
      tensors = {input, gradient, {TensorRole::weight_gradient, 0, to * from, true}};
      if (has_bias) tensors.push_back({TensorRole::bias_gradient, 0, to, true});
      return composed_kernel(device, algorithm, std::move(tensors), 0, [=](Buffers buffers, float* /*scratch*/) {
        for (std::int64_t s = 0; s < samples; ++s) {
          blas->product({.b_transposed = true, .adds = s > 0}, to, from, positions, floats(buffers[1]) + s * to * positions,
                        floats(buffers[0]) + s * from * positions, floats(buffers[2]));
        }
        if (!has_bias) return;
        float* const sums = floats(buffers[3]);
        std::fill_n(sums, to, 0.0F);
        for (std::int64_t row = 0; row < samples * to; ++row) {
          const float* const items = floats(buffers[1]) + row * positions;
          float sum = 0;
          for (std::int64_t i = 0; i < positions; ++i) sum += items[i];
          sums[row % to] += sum;
        }
      });
  }
}

}  // namespace ddl::onednn
