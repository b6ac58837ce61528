#include <algorithm>
#include <memory>
#include <vector>

#include "profiler/backends/onednn/kernels.hpp"
#include "profiler/backends/onednn/matrix_product.hpp"
#include "profiler/backends/onednn/routing.hpp"
#include "profiler/backends/onednn/row_softmax.hpp"

namespace ddl::onednn {
namespace {

// The output of a router has a number for each token and expert: the weight of a selected expert, and zero for all others.
std::unique_ptr<PreparedKernel> prepare_router(const Device& device, const Problem& problem) {
  const std::int64_t experts = problem.output.channels;
  const std::int64_t active = problem.operation->attribute_values().integer("active", 1);
  const std::int64_t channels = problem.inputs.front().channels;
  const std::int64_t rows = problem.samples * problem.output.positions();
  const std::int64_t scores = rows * experts;
  const KernelTensor input{TensorRole::input, 0, rows * channels, false};
  const KernelTensor weight{TensorRole::weight, 0, experts * channels, false};
  const KernelTensor kept{TensorRole::kept, 0, scores, problem.pass == Pass::forward};
  const auto softmax = std::make_shared<const RowSoftmax>(device, rows, experts);
  const std::string algorithm = "matmul+softmax+loop";
  if (problem.pass == Pass::forward) {
    const auto product = std::make_shared<const MatrixProduct>(
        device, MatrixProduct::Shape{.m = rows, .n = experts, .k = channels, .b_transposed = true});
    return composed_kernel(device, algorithm, {input, weight, kept, {TensorRole::output, 0, scores, true}}, scores,
                           [=](std::span<DeviceBuffer* const> buffers, float* scratch) {
                             (*product)(floats(buffers[0]), floats(buffers[1]), scratch);
                             float* weights = floats(buffers[2]);
                             softmax->forward(scratch, weights);
                             float* to = floats(buffers[3]);
                             std::fill_n(to, scores, 0.0F);
                             std::vector<std::int64_t> places(static_cast<std::size_t>(active));
                             for (std::int64_t row = 0; row < rows; ++row) {
                               best_of(weights + row * experts, experts, active, places.data());
                               for (const std::int64_t place : places)
                                 to[row * experts + place] = weights[row * experts + place];
                             }
                           });
  }
  // Computes the gradient of the scores, which both backward passes need first. Experts that were
  // not selected have a weight of zero.
  const auto of_scores = [=](const float* weights, const float* gradient, float* all, float* scratch) {
    for (std::int64_t i = 0; i < scores; ++i) scratch[i] = weights[i] != 0 ? gradient[i] : 0.0F;
    softmax->backward(all, scratch, scratch + scores);
    return scratch + scores;
  };
  const KernelTensor output{TensorRole::output, 0, scores, false};
  const KernelTensor gradient{TensorRole::output_gradient, 0, scores, false};
  if (problem.pass == Pass::backward_data) {
    const auto product =
        std::make_shared<const MatrixProduct>(device, MatrixProduct::Shape{.m = rows, .n = channels, .k = experts});
    return composed_kernel(device, algorithm,
                           {weight, kept, output, gradient, {TensorRole::input_gradient, 0, rows * channels, true}},
                           2 * scores, [=](std::span<DeviceBuffer* const> buffers, float* scratch) {
                             (*product)(of_scores(floats(buffers[2]), floats(buffers[3]), floats(buffers[1]), scratch),
                                        floats(buffers[0]), floats(buffers[4]));
                           });
  }
  const auto product = std::make_shared<const MatrixProduct>(
      device, MatrixProduct::Shape{.m = experts, .n = channels, .k = rows, .a_transposed = true});
  return composed_kernel(device, algorithm,
                         {input, kept, output, gradient, {TensorRole::weight_gradient, 0, experts * channels, true}},
                         2 * scores, [=](std::span<DeviceBuffer* const> buffers, float* scratch) {
                           (*product)(of_scores(floats(buffers[2]), floats(buffers[3]), floats(buffers[1]), scratch),
                                      floats(buffers[0]), floats(buffers[4]));
                         });
}

}  // namespace

const Kind router{"router", only_fp32, prepare_router};

}  // namespace ddl::onednn
