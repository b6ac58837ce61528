#include "profiler/backends/cuda/kernels.hpp"
#include "profiler/backends/cuda/status.hpp"

namespace ddl::cuda {
namespace {

std::unique_ptr<PreparedKernel> prepare_position_embedding(const Device& device, const Problem& problem) {
  const Precision precision = problem.precision;
  const std::int64_t each = problem.output.items();  // rows of the table: the positions of the sequence
  const std::int64_t table = problem.operation->attribute_values().integer("positions", 1) * problem.output.channels;
  const std::int64_t samples = problem.samples;
  const std::int64_t items = samples * each;
  const std::size_t size = is_mixed(precision) ? 2 : 4;
  if (problem.pass == Pass::forward) {
    return make_kernel(
        "own:add",
        {flat(TensorRole::input, 0, items, false, precision), flat(TensorRole::weight, 0, table, false, precision),
         flat(TensorRole::output, 0, items, true, precision)},
        [=, &device](std::span<void* const> at) {
          started(device::add_table(device.launch(precision), at[0], at[1], at[2], samples, each));
        });
  }
  const KernelTensor gradient = flat(TensorRole::output_gradient, 0, items, false, precision);
  if (problem.pass == Pass::backward_data) {
    // Backward-data copies the gradient unchanged.
    return make_kernel("memcpy", {gradient, flat(TensorRole::input_gradient, 0, items, true, precision)},
                       [=, &device](std::span<void* const> at) {
                         check(cudaMemcpyAsync(at[1], at[0], static_cast<std::size_t>(items) * size,
                                               cudaMemcpyDeviceToDevice, device.stream),
                               "a copy");
                       });
  }
  return make_kernel("own:sum", {gradient, flat(TensorRole::weight_gradient, 0, table, true, precision)},
                     [=, &device](std::span<void* const> at) {
                       auto* rest = static_cast<std::byte*>(at[1]) + static_cast<std::size_t>(each) * size;
                       const auto bytes = static_cast<std::size_t>(table - each) * size;
                       if (bytes > 0) check(cudaMemsetAsync(rest, 0, bytes, device.stream), "clearing a gradient");
                       started(device::add_table_backward(device.launch(precision), at[0], at[1], samples, each));
                     });
}

}  // namespace

const Kind position_embedding{"position_embedding", no_refusal, prepare_position_embedding};

}  // namespace ddl::cuda
