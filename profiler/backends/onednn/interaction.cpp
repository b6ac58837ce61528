#include <algorithm>
#include <memory>

#include "profiler/backends/onednn/kernels.hpp"
#include "profiler/backends/onednn/matrix_product.hpp"

namespace ddl::onednn {
namespace {

// An interaction: the vectors of each sample are concatenated into a matrix T, T·Tᵀ is computed in
// full, and the entries below its diagonal are selected.
std::unique_ptr<PreparedKernel> prepare_interaction(const Device& device, const Problem& problem) {
  if (problem.pass == Pass::backward_weight) return empty_kernel();
  const auto count = static_cast<std::int64_t>(problem.inputs.size());
  const std::int64_t channels = problem.inputs.front().channels;
  const std::int64_t out = problem.output.channels;
  const std::int64_t samples = problem.samples;
  const std::int64_t side = count * channels;
  const std::int64_t square = count * count;
  const bool forward = problem.pass == Pass::forward;
  std::vector<KernelTensor> tensors;
  for (int i = 0; i < static_cast<int>(count); ++i) {
    tensors.push_back({forward ? TensorRole::input : TensorRole::input_gradient, i, samples * channels, !forward});
  }
  tensors.push_back({TensorRole::kept, 0, samples * side, forward});
  tensors.push_back({forward ? TensorRole::output : TensorRole::output_gradient, 0, samples * out, forward});
  const auto inputs = static_cast<std::size_t>(count);
  using Shape = MatrixProduct::Shape;
  if (forward) {
    const auto product = std::make_shared<const MatrixProduct>(
        device, Shape{.count = samples, .m = count, .n = count, .k = channels, .b_transposed = true});
    return composed_kernel(device, "matmul+loop", std::move(tensors), samples * square,
                           [=](std::span<DeviceBuffer* const> buffers, float* scratch) {
                             float* together = floats(buffers[inputs]);
                             for (std::int64_t sample = 0; sample < samples; ++sample) {
                               for (std::size_t i = 0; i < inputs; ++i) {
                                 std::copy_n(floats(buffers[i]) + sample * channels, channels,
                                             together + sample * side + static_cast<std::int64_t>(i) * channels);
                               }
                             }
                             (*product)(together, together, scratch);
                             float* to = floats(buffers[inputs + 1]);
                             for (std::int64_t sample = 0; sample < samples; ++sample) {
                               to = std::copy_n(floats(buffers[0]) + sample * channels, channels, to);
                               const float* products = scratch + sample * square;
                               for (std::int64_t i = 1; i < count; ++i) to = std::copy_n(products + i * count, i, to);
                             }
                           });
  }
  // Forward is Z = T·Tᵀ. The gradient of T is the sum of dZ·T and dZᵀ·T.
  const Shape shape{.count = samples, .m = count, .n = channels, .k = count};
  Shape second = shape;
  second.a_transposed = true;
  second.adds = true;
  const auto by_rows = std::make_shared<const MatrixProduct>(device, shape);
  const auto by_columns = std::make_shared<const MatrixProduct>(device, second);
  return composed_kernel(device, "matmul+loop", std::move(tensors), samples * (square + side),
                         [=](std::span<DeviceBuffer* const> buffers, float* scratch) {
                           float* const result = scratch + samples * square;
                           std::fill_n(scratch, samples * square, 0.0F);
                           for (std::int64_t sample = 0; sample < samples; ++sample) {
                             const float* from = floats(buffers[inputs + 1]) + sample * out + channels;
                             for (std::int64_t i = 1; i < count; ++i, from += i - 1) {
                               std::copy_n(from, i, scratch + sample * square + i * count);
                             }
                           }
                           (*by_rows)(scratch, floats(buffers[inputs]), result);
                           (*by_columns)(scratch, floats(buffers[inputs]), result);
                           for (std::int64_t sample = 0; sample < samples; ++sample) {
                             for (std::size_t i = 0; i < inputs; ++i) {
                               float* to = floats(buffers[i]) + sample * channels;
                               std::copy_n(result + sample * side + static_cast<std::int64_t>(i) * channels, channels, to);
                               if (i > 0) continue;
                               const float* own = floats(buffers[inputs + 1]) + sample * out;
                               for (std::int64_t c = 0; c < channels; ++c) to[c] += own[c];
                             }
                           }
                         });
}

}  // namespace

const Kind interaction{"interaction", only_fp32, prepare_interaction};

}  // namespace ddl::onednn
