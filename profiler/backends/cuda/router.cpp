#include "profiler/backends/cuda/matrix_product.hpp"

namespace ddl::cuda {
namespace {

// The output of a router has a number for each token and expert: the weight of a selected expert, and zero for all others.
std::unique_ptr<PreparedKernel> prepare_router(const Device& device, const Problem& problem) {
  const std::int64_t experts = problem.output.channels;
  const std::int64_t active = problem.operation->attribute_values().integer("active", 1);
  const std::int64_t channels = problem.inputs.front().channels;
  const std::int64_t rows = problem.samples * problem.output.positions();
  const std::int64_t items = rows * experts;
  const Precision precision = problem.precision;
  const device::Scores scores{rows, experts, rows, false, 1};
  const KernelTensor input = flat(TensorRole::input, 0, rows * channels, false, precision);
  const KernelTensor weight = flat(TensorRole::weight, 0, experts * channels, false, precision);
  const KernelTensor kept = flat(TensorRole::kept, 0, items, problem.pass == Pass::forward, precision);
  const std::string key = print_problem(problem);
  const auto scratch = std::make_shared<DeviceMemory>(buffer_bytes(items, precision, false));
  if (problem.pass == Pass::forward) {
    const auto product = std::make_shared<ProductRunner>(
        device, Product{.m = rows, .n = experts, .k = channels, .b_transposed = true}, precision, key);
    return make_kernel(
        product->name() + "+own:softmax+own:best",
        {input, weight, kept, flat(TensorRole::output, 0, items, true, precision)},
        [=, &device](std::span<void* const> at) {
          const device::Launch launch = device.launch(precision);
          product->run(device, at[0], at[1], scratch->data());
          started(device::softmax(launch, scores, scratch->data(), at[2]));
          started(device::keep_best(launch, at[2], at[3], rows, experts, active));
        },
        product->workspace() + scratch->bytes());
  }
  // Experts that were not selected have a weight of zero, and no gradient.
  const auto of_scores = [=, &device](const void* output, const void* gradient, const void* all) {
    const device::Launch launch = device.launch(precision);
    started(device::where_kept(launch, output, gradient, scratch->data(), items));
    started(device::softmax_backward(launch, scores, all, scratch->data(), scratch->data()));
  };
  const bool data = problem.pass == Pass::backward_data;
  const auto product =
      std::make_shared<ProductRunner>(device,
                                      data ? Product{.m = rows, .n = channels, .k = experts}
                                           : Product{.m = experts, .n = channels, .k = rows, .a_transposed = true},
                                      precision, key);
  return make_kernel(
      "own:softmax+" + product->name(),
      {data ? weight : input, kept, flat(TensorRole::output, 0, items, false, precision),
       flat(TensorRole::output_gradient, 0, items, false, precision),
       data ? flat(TensorRole::input_gradient, 0, rows * channels, true, precision)
            : flat(TensorRole::weight_gradient, 0, experts * channels, true, precision)},
      [=, &device](std::span<void* const> at) {
        of_scores(at[2], at[3], at[1]);
        product->run(device, scratch->data(), at[0], at[4]);
      },
      product->workspace() + scratch->bytes());
}

}  // namespace

const Kind router{"router", no_refusal, prepare_router};

}  // namespace ddl::cuda
