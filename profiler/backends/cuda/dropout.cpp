#include "profiler/attribute_text.hpp"
#include "profiler/backends/cuda/kernels.hpp"

namespace ddl::cuda {
namespace {

std::string refusal(const Problem& problem) {
  return AttributeText(*problem.operation).text("of") == "samples" ? "dropout of whole samples is not in this back end"
                                                                   : std::string();
}

// Forward draws a mask of bytes, as frameworks do on GPUs.
std::unique_ptr<PreparedKernel> prepare(const Device& device, const Problem& problem) {
  const double rate = AttributeText(*problem.operation).number("rate", 0);
  if (problem.pass == Pass::backward_weight || rate == 0) return empty_kernel();
  const Precision precision = problem.precision;
  const std::int64_t items = problem.samples * problem.output.items();
  const bool forward = problem.pass == Pass::forward;
  KernelTensor mask = flat(TensorRole::kept, 0, items, forward, Precision::fp32);
  mask.bytes = true;
  if (forward) {
    return make_kernel(
        "own:dropout",
        {flat(TensorRole::input, 0, items, false, precision), mask, flat(TensorRole::output, 0, items, true, precision)},
        [&device, items, rate, precision, seed = std::uint64_t{0}](std::span<void* const> at) mutable {
          started(device::dropout(device.launch(precision), at[0], static_cast<std::uint8_t*>(at[1]), at[2], items, rate,
                                  ++seed));
        });
  }
  const float scale = rate < 1 ? static_cast<float>(1 / (1 - rate)) : 0.0F;
  return make_kernel(
      "own:mask",
      {mask, flat(TensorRole::output_gradient, 0, items, false, precision),
       flat(TensorRole::input_gradient, 0, items, true, precision)},
      [&device, items, scale, precision](std::span<void* const> at) {
        started(device::mask(device.launch(precision), at[1], static_cast<const std::uint8_t*>(at[0]), at[2], items, scale));
      });
}

}  // namespace

const Kind dropout{"dropout", refusal, prepare};

}  // namespace ddl::cuda
