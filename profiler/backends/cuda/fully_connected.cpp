#include "core/error.hpp"
#include "profiler/backends/cuda/experts.hpp"
#include "profiler/backends/cuda/matrix_product.hpp"
#include "profiler/backends/cuda/status.hpp"

namespace ddl::cuda {
namespace {

// The rows of the product are samples, or tokens.
std::unique_ptr<PreparedKernel> prepare_fully_connected(const Device& device, const Problem& problem) {
  if (problem.operation->attribute_values().has("experts")) return prepare_experts(device, problem);
  const std::int64_t rows = problem.samples * problem.inputs.front().positions();
  const std::int64_t from = problem.inputs.front().channels;
  const std::int64_t to = problem.output.channels;
  const bool has_bias = problem.operation->attribute_values().flag("bias", true);
  const Precision precision = problem.precision;
  const KernelTensor input = flat(TensorRole::input, 0, rows * from, false, precision);
  const KernelTensor weight = flat(TensorRole::weight, 0, to * from, false, precision);
  const KernelTensor gradient = flat(TensorRole::output_gradient, 0, rows * to, false, precision);
  const std::string key = print_problem(problem);
  switch (problem.pass) {
    case Pass::forward: {
      std::vector<KernelTensor> tensors{input, weight, flat(TensorRole::output, 0, rows * to, true, precision)};
      if (has_bias) tensors.push_back(flat(TensorRole::bias, 0, to, false, precision));
      Product product{.m = rows, .n = to, .k = from, .b_transposed = true, .has_bias = has_bias};
      std::shared_ptr<ProductRunner> runner;
      try {
        runner = std::make_shared<ProductRunner>(device, product, precision, key);
      } catch (const OutOfMemory&) {
        throw;
      } catch (const Error&) {
        // If there is no algorithm that also adds the bias, the bias is added by a separate kernel.
        if (!has_bias) throw;
        product.has_bias = false;
        runner = std::make_shared<ProductRunner>(device, product, precision, key + " without bias");
      }
      const bool adds_bias = has_bias && !product.has_bias;
      const device::Image matrix{rows, to, 1, true};
      return make_kernel(
          runner->name() + (adds_bias ? "+own:bias" : ""), std::move(tensors),
          [=, &device](std::span<void* const> at) {
            runner->run(device, at[0], at[1], at[2], has_bias && !adds_bias ? at[3] : nullptr);
            if (adds_bias) started(device::add_bias(device.launch(precision), matrix, at[3], at[2]));
          },
          runner->workspace());
    }
    case Pass::backward_data: {
      const auto product = std::make_shared<ProductRunner>(device, Product{.m = rows, .n = from, .k = to}, precision, key);
      return make_kernel(
          product->name(), {gradient, weight, flat(TensorRole::input_gradient, 0, rows * from, true, precision)},
          [&device, product](std::span<void* const> at) { product->run(device, at[0], at[1], at[2]); },
          product->workspace());
    }
    default:
      break;
  }
  const auto product =
      std::make_shared<ProductRunner>(device, Product{.m = to, .n = from, .k = rows, .a_transposed = true}, precision, key);
  std::vector<KernelTensor> tensors{gradient, input, flat(TensorRole::weight_gradient, 0, to * from, true, precision)};
  if (!has_bias) {
    return make_kernel(
        product->name(), std::move(tensors),
        [&device, product](std::span<void* const> at) { product->run(device, at[0], at[1], at[2]); }, product->workspace());
  }
  // As in frameworks, the bias's gradient is a separate sum.
  tensors.push_back(flat(TensorRole::bias_gradient, 0, to, true, precision));
  const device::Image matrix{rows, to, 1, true};
  const auto partial =
      std::make_shared<DeviceMemory>(buffer_bytes(device::channel_sum_parts(matrix) * to, Precision::fp32, false));
  return make_kernel(
      product->name() + "+own:sum", std::move(tensors),
      [&device, product, partial, matrix, precision](std::span<void* const> at) {
        product->run(device, at[0], at[1], at[2]);
        started(device::channel_sums(device.launch(precision), matrix, at[0], static_cast<float*>(partial->data()), at[3]));
      },
      product->workspace() + partial->bytes());
}

}  // namespace

const Kind fully_connected{"fully_connected", no_refusal, prepare_fully_connected};

}  // namespace ddl::cuda
