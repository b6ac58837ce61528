#include "profiler/backends/onednn/experts.hpp"

#include <algorithm>
#include <map>
#include <memory>

#include "profiler/backends/onednn/matrix_product.hpp"

namespace ddl::onednn {
namespace {

/// A group of rows for one expert. If the rows do not divide evenly, the sizes of groups differ by one.
struct Group {
  std::int64_t expert, first, rows;
};

std::vector<Group> groups_of(std::int64_t rows, std::int64_t experts) {
  std::vector<Group> groups;
  for (std::int64_t e = 0; e < experts; ++e) {
    const std::int64_t first = e * rows / experts;
    groups.push_back({e, first, (e + 1) * rows / experts - first});
  }
  return groups;
}

}  // namespace

// The products of the experts run one after the other, as in frameworks.
std::unique_ptr<PreparedKernel> prepare_experts(const Device& device, const Problem& problem) {
  const AttributeValues attributes = problem.operation->attribute_values();
  const std::int64_t experts = attributes.integer("experts", 1);
  const bool has_bias = attributes.flag("bias", true);
  const std::int64_t from = problem.inputs.front().channels;
  const std::int64_t to = problem.output.channels;
  const std::int64_t rows = problem.samples * problem.output.positions();
  const std::vector<Group> groups = groups_of(rows, experts);
  const Pass pass = problem.pass;
  std::map<std::int64_t, std::shared_ptr<const MatrixProduct>> products;  // key: number of rows of a group
  for (const Group& group : groups) {
    auto& product = products[group.rows];
    if (product || group.rows == 0) continue;
    using Shape = MatrixProduct::Shape;
    const Shape shape = pass == Pass::forward         ? Shape{.m = group.rows, .n = to, .k = from, .b_transposed = true}
                        : pass == Pass::backward_data ? Shape{.m = group.rows, .n = from, .k = to}
                                                      : Shape{.m = to, .n = from, .k = group.rows, .a_transposed = true};
    product = std::make_shared<const MatrixProduct>(device, shape);
  }
  const KernelTensor input{TensorRole::input, 0, rows * from, false};
  const KernelTensor weight{TensorRole::weight, 0, experts * to * from, false};
  const KernelTensor gradient{TensorRole::output_gradient, 0, rows * to, false};
  const std::int64_t matrix = to * from;
  std::vector<KernelTensor> tensors;
  switch (pass) {
    case Pass::forward:
      tensors = {input, weight, {TensorRole::output, 0, rows * to, true}};
      if (has_bias) tensors.push_back({TensorRole::bias, 0, experts * to, false});
      return composed_kernel(device, "matmul", std::move(tensors), 0,
                             [=](std::span<DeviceBuffer* const> buffers, float* /*scratch*/) {
                               for (const Group& group : groups) {
                                 if (group.rows == 0) continue;
                                 float* output = floats(buffers[2]) + group.first * to;
                                 (*products.at(group.rows))(floats(buffers[0]) + group.first * from,
                                                            floats(buffers[1]) + group.expert * matrix, output);
                                 if (!has_bias) continue;
                                 const float* bias = floats(buffers[3]) + group.expert * to;
                                 for (std::int64_t row = 0; row < group.rows; ++row) {
                                   for (std::int64_t i = 0; i < to; ++i) output[row * to + i] += bias[i];
                                 }
                               }
                             });
    case Pass::backward_data:
      return composed_kernel(device, "matmul", {gradient, weight, {TensorRole::input_gradient, 0, rows * from, true}}, 0,
                             [=](std::span<DeviceBuffer* const> buffers, float* /*scratch*/) {
                               for (const Group& group : groups) {
                                 if (group.rows == 0) continue;
                                 (*products.at(group.rows))(floats(buffers[0]) + group.first * to,
                                                            floats(buffers[1]) + group.expert * matrix,
                                                            floats(buffers[2]) + group.first * from);
                               }
                             });
    default:
      break;
  }
  tensors = {input, gradient, {TensorRole::weight_gradient, 0, experts * matrix, true}};
  if (has_bias) tensors.push_back({TensorRole::bias_gradient, 0, experts * to, true});
  return composed_kernel(device, "matmul", std::move(tensors), 0,
                         [=](std::span<DeviceBuffer* const> buffers, float* /*scratch*/) {
                           for (const Group& group : groups) {
                             const float* above = floats(buffers[1]) + group.first * to;
                             float* result = floats(buffers[2]) + group.expert * matrix;
                             if (group.rows == 0) {
                               std::fill_n(result, matrix, 0.0F);
                             } else {
                               (*products.at(group.rows))(above, floats(buffers[0]) + group.first * from, result);
                             }
                             if (!has_bias) continue;
                             float* bias = floats(buffers[3]) + group.expert * to;
                             std::fill_n(bias, to, 0.0F);
                             for (std::int64_t row = 0; row < group.rows; ++row) {
                               for (std::int64_t i = 0; i < to; ++i) bias[i] += above[row * to + i];
                             }
                           }
                         });
}

}  // namespace ddl::onednn
