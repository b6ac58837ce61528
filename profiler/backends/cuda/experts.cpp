#include "profiler/backends/cuda/experts.hpp"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "profiler/backends/cuda/matrix_product.hpp"
#include "profiler/backends/cuda/status.hpp"

namespace ddl::cuda {
namespace {

/// A group of rows for one expert. If the rows do not divide evenly, the sizes of groups differ by one.
struct Group {
  std::int64_t expert = 0, first = 0, rows = 0;
};

std::vector<Group> groups_of(std::int64_t rows, std::int64_t experts) {
  std::vector<Group> groups;
  for (std::int64_t e = 0; e < experts; ++e) {
    const std::int64_t first = e * rows / experts;
    groups.push_back({e, first, (e + 1) * rows / experts - first});
  }
  return groups;
}

Product product_of(Pass pass, std::int64_t rows, std::int64_t from, std::int64_t to) {
  if (pass == Pass::forward) return {.m = rows, .n = to, .k = from, .b_transposed = true};
  if (pass == Pass::backward_data) return {.m = rows, .n = from, .k = to};
  return {.m = to, .n = from, .k = rows, .a_transposed = true};
}

}  // namespace

// The products of the experts run one after the other, as in frameworks. Biases are added separately.
std::unique_ptr<PreparedKernel> prepare_experts(const Device& device, const Problem& problem) {
  const AttributeValues attributes = problem.operation->attribute_values();
  const std::int64_t experts = attributes.integer("experts", 1);
  const bool has_bias = attributes.flag("bias", true);
  const std::int64_t from = problem.inputs.front().channels;
  const std::int64_t to = problem.output.channels;
  const std::int64_t rows = problem.samples * problem.output.positions();
  const std::int64_t matrix = to * from;
  const Precision precision = problem.precision;
  const std::vector<Group> groups = groups_of(rows, experts);
  const Pass pass = problem.pass;
  std::map<std::int64_t, std::shared_ptr<ProductRunner>> products;  // key: number of rows of a group
  std::string name;
  std::size_t workspace = 0;
  for (const Group& group : groups) {
    auto& product = products[group.rows];
    if (product || group.rows == 0) continue;
    Product shape = product_of(pass, group.rows, from, to);
    shape.alignment = alignment_of({matrix, from, to}, precision);
    product = std::make_shared<ProductRunner>(device, shape, precision,
                                              fmt::format("{} of {} rows", print_problem(problem), group.rows));
    if (name.empty()) name = product->name();
    workspace = std::max(workspace, product->workspace());
  }
  const std::size_t size = is_mixed(precision) ? 2 : 4;
  const auto part = [size](void* whole, std::int64_t items) -> void* {
    return static_cast<std::byte*>(whole) + static_cast<std::size_t>(items) * size;
  };
  const auto image_of_rows = [to](const Group& group) { return device::Image{group.rows, to, 1, true}; };
  const KernelTensor input = flat(TensorRole::input, 0, rows * from, false, precision);
  const KernelTensor weight = flat(TensorRole::weight, 0, experts * matrix, false, precision);
  const KernelTensor gradient = flat(TensorRole::output_gradient, 0, rows * to, false, precision);
  std::vector<KernelTensor> tensors;
  if (pass == Pass::forward) {
    tensors = {input, weight, flat(TensorRole::output, 0, rows * to, true, precision)};
    if (has_bias) tensors.push_back(flat(TensorRole::bias, 0, experts * to, false, precision));
    return make_kernel(
        name + (has_bias ? "+own:bias" : ""), std::move(tensors),
        [=, &device](std::span<void* const> at) {
          for (const Group& group : groups) {
            if (group.rows == 0) continue;
            void* const output = part(at[2], group.first * to);
            products.at(group.rows)
                ->run(device, part(at[0], group.first * from), part(at[1], group.expert * matrix), output);
            if (!has_bias) continue;
            started(
                device::add_bias(device.launch(precision), image_of_rows(group), part(at[3], group.expert * to), output));
          }
        },
        workspace);
  }
  if (pass == Pass::backward_data) {
    return make_kernel(
        name, {gradient, weight, flat(TensorRole::input_gradient, 0, rows * from, true, precision)},
        [=, &device](std::span<void* const> at) {
          for (const Group& group : groups) {
            if (group.rows == 0) continue;
            products.at(group.rows)
                ->run(device, part(at[0], group.first * to), part(at[1], group.expert * matrix),
                      part(at[2], group.first * from));
          }
        },
        workspace);
  }
  tensors = {gradient, input, flat(TensorRole::weight_gradient, 0, experts * matrix, true, precision)};
  std::shared_ptr<DeviceMemory> sums;
  if (has_bias) {
    tensors.push_back(flat(TensorRole::bias_gradient, 0, experts * to, true, precision));
    std::int64_t parts = 1;
    for (const Group& group : groups) {
      parts = std::max<std::int64_t>(parts, device::channel_sum_parts(image_of_rows(group)));
    }
    sums = std::make_shared<DeviceMemory>(buffer_bytes(parts * to, Precision::fp32, false));
    workspace += sums->bytes();
  }
  return make_kernel(
      name + (has_bias ? "+own:sum" : ""), std::move(tensors),
      [=, &device](std::span<void* const> at) {
        const auto clear = [&](void* data, std::int64_t items) {
          check(cudaMemsetAsync(data, 0, static_cast<std::size_t>(items) * size, device.stream), "clearing a gradient");
        };
        for (const Group& group : groups) {
          void* const above = part(at[0], group.first * to);
          void* const result = part(at[2], group.expert * matrix);
          void* const bias = has_bias ? part(at[3], group.expert * to) : nullptr;
          if (group.rows == 0) {
            // An expert without tokens has a gradient of zero.
            clear(result, matrix);
            if (has_bias) clear(bias, to);
            continue;
          }
          products.at(group.rows)->run(device, above, part(at[1], group.first * from), result);
          if (!has_bias) continue;
          started(device::channel_sums(device.launch(precision), image_of_rows(group), above,
                                       static_cast<float*>(sums->data()), bias));
        }
      },
      workspace);
}

}  // namespace ddl::cuda
