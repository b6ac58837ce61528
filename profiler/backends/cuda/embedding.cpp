#include "profiler/backends/cuda/kernels.hpp"
#include "profiler/backends/cuda/status.hpp"

namespace ddl::cuda {
namespace {

// Tokens are stored in fp32, because their numbers do not fit into 16 bits. The table's gradient is
// summed in fp32 and written completely.
std::unique_ptr<PreparedKernel> prepare_embedding(const Device& device, const Problem& problem) {
  const std::int64_t rows = problem.operation->attribute_values().integer("vocabulary", 1);
  const std::int64_t features = problem.output.channels;
  const std::int64_t tokens = problem.samples * problem.output.positions();
  const Precision precision = problem.precision;
  const KernelTensor input = flat(TensorRole::input, 0, tokens, false, Precision::fp32);
  if (problem.pass == Pass::forward) {
    return make_kernel("own:gather",
                       {input, flat(TensorRole::weight, 0, rows * features, false, precision),
                        flat(TensorRole::output, 0, tokens * features, true, precision)},
                       [=, &device](std::span<void* const> at) {
                         started(device::look_up(device.launch(precision), static_cast<const float*>(at[0]), at[1], at[2],
                                                 tokens, rows, features));
                       });
  }
  if (problem.pass != Pass::backward_weight) return empty_kernel();
  return make_kernel("own:scatter",
                     {input, flat(TensorRole::output_gradient, 0, tokens * features, false, precision),
                      flat(TensorRole::weight_gradient, 0, rows * features, true, Precision::fp32)},
                     [=, &device](std::span<void* const> at) {
                       auto* table = static_cast<float*>(at[2]);
                       const auto bytes = static_cast<std::size_t>(rows * features) * sizeof(float);
                       check(cudaMemsetAsync(table, 0, bytes, device.stream), "clearing a gradient");
                       started(device::look_up_backward(device.launch(precision), static_cast<const float*>(at[0]), at[1],
                                                        table, tokens, rows, features));
                     });
}

}  // namespace

const Kind embedding{"embedding", no_refusal, prepare_embedding};

}  // namespace ddl::cuda
