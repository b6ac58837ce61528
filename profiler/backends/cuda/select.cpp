#include "profiler/backends/cuda/kernels.hpp"
#include "profiler/backends/cuda/status.hpp"

namespace ddl::cuda {
namespace {

std::unique_ptr<PreparedKernel> prepare_select(const Device& device, const Problem& problem) {
  if (problem.pass == Pass::backward_weight) return empty_kernel();
  const Precision precision = problem.precision;
  const std::int64_t each = problem.inputs.front().items();
  const std::int64_t channels = problem.output.channels;
  const std::int64_t samples = problem.samples;
  const std::size_t size = is_mixed(precision) ? 2 : 4;
  const bool last = problem.operation->attribute_values().text("token") == "last";
  const auto start = static_cast<std::size_t>(last ? each - channels : 0) * size;
  if (problem.pass == Pass::forward) {
    return make_kernel("own:copy",
                       {flat(TensorRole::input, 0, samples * each, false, precision),
                        flat(TensorRole::output, 0, samples * channels, true, precision)},
                       [=, &device](std::span<void* const> at) {
                         started(device::copy_rows(device.launch(precision), static_cast<std::byte*>(at[0]) + start, each,
                                                   at[1], channels, samples, channels));
                       });
  }
  return make_kernel("own:copy",
                     {flat(TensorRole::output_gradient, 0, samples * channels, false, precision),
                      flat(TensorRole::input_gradient, 0, samples * each, true, precision)},
                     [=, &device](std::span<void* const> at) {
                       check(cudaMemsetAsync(at[1], 0, static_cast<std::size_t>(samples * each) * size, device.stream),
                             "clearing a gradient");
                       started(device::copy_rows(device.launch(precision), at[0], channels,
                                                 static_cast<std::byte*>(at[1]) + start, each, samples, channels));
                     });
}

}  // namespace

const Kind select{"select", no_refusal, prepare_select};

}  // namespace ddl::cuda
