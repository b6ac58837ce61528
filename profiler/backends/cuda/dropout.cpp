#include "profiler/backends/cuda/kernels.hpp"

namespace ddl::cuda {
namespace {

// Forward draws a mask of bytes, as frameworks do on GPUs: one byte per element, or one byte per
// sample if whole samples are dropped.
std::unique_ptr<PreparedKernel> prepare_dropout(const Device& device, const Problem& problem) {
  const double rate = problem.operation->attribute_values().number("rate", 0);
  if (problem.pass == Pass::backward_weight || rate == 0) return empty_kernel();
  const Precision precision = problem.precision;
  const std::int64_t items = problem.samples * problem.output.items();
  const bool forward = problem.pass == Pass::forward;
  const bool of_samples = problem.operation->attribute_values().text("of") == "samples";
  const std::int64_t samples = problem.samples;
  const std::int64_t each = problem.output.items();
  KernelTensor mask = flat(TensorRole::kept, 0, of_samples ? samples : items, forward, Precision::fp32);
  mask.bytes = true;
  if (forward) {
    return make_kernel(
        "own:dropout",
        {flat(TensorRole::input, 0, items, false, precision), mask, flat(TensorRole::output, 0, items, true, precision)},
        [=, &device, seed = std::uint64_t{0}](std::span<void* const> at) mutable {
          const device::Launch launch = device.launch(precision);
          auto* stays = static_cast<std::uint8_t*>(at[1]);
          started(of_samples ? device::drop_samples(launch, at[0], stays, at[2], samples, each, rate, ++seed)
                             : device::dropout(launch, at[0], stays, at[2], items, rate, ++seed));
        });
  }
  const float scale = rate < 1 ? static_cast<float>(1 / (1 - rate)) : 0.0F;
  return make_kernel("own:mask",
                     {mask, flat(TensorRole::output_gradient, 0, items, false, precision),
                      flat(TensorRole::input_gradient, 0, items, true, precision)},
                     [=, &device](std::span<void* const> at) {
                       const device::Launch launch = device.launch(precision);
                       const auto* stays = static_cast<const std::uint8_t*>(at[0]);
                       started(of_samples ? device::mask_samples(launch, at[1], stays, at[2], samples, each, scale)
                                          : device::mask(launch, at[1], stays, at[2], items, scale));
                     });
}

}  // namespace

const Kind dropout{"dropout", no_refusal, prepare_dropout};

}  // namespace ddl::cuda
