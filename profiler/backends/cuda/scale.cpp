#include "profiler/backends/cuda/kernels.hpp"

namespace ddl::cuda {
namespace {

std::unique_ptr<PreparedKernel> prepare_constant(const Device& device, const Problem& problem) {
  if (problem.pass == Pass::backward_weight) return empty_kernel();
  const auto factor = static_cast<float>(problem.operation->attribute_values().number("factor", 1));
  const std::int64_t items = problem.samples * problem.output.items();
  const Precision precision = problem.precision;
  const bool forward = problem.pass == Pass::forward;
  // Forward multiplies the input by a constant; backward multiplies the gradient by the same constant.
  return make_kernel("own:scale",
                     {flat(forward ? TensorRole::input : TensorRole::output_gradient, 0, items, false, precision),
                      flat(forward ? TensorRole::output : TensorRole::input_gradient, 0, items, true, precision)},
                     [=, &device](std::span<void* const> at) {
                       started(device::multiply_by(device.launch(precision), at[0], factor, at[1], items));
                     });
}

// The trained parameters are the factors of all channels, followed by the shifts.
std::unique_ptr<PreparedKernel> prepare_trained(const Device& device, const Problem& problem) {
  const bool has_shift = problem.operation->attribute_values().flag("bias", false);
  const std::int64_t channels = problem.output.channels;
  const std::int64_t trained = (has_shift ? 2 : 1) * channels;
  const Precision precision = problem.precision;
  const std::size_t behind = static_cast<std::size_t>(channels) * (is_mixed(precision) ? 2 : 4);
  const device::Image image = image_of(device, problem.output, problem.samples);
  const auto data = [&](TensorRole role, bool written) {
    return image_tensor(device, role, 0, problem.output, problem, written);
  };
  if (problem.pass == Pass::backward_weight) {
    const auto scratch =
        std::make_shared<DeviceMemory>(buffer_bytes(device::channel_scratch(image), Precision::fp32, false));
    return make_kernel(
        "own:sum",
        {data(TensorRole::input, false), data(TensorRole::output_gradient, false),
         flat(TensorRole::bias_gradient, 0, trained, true, precision)},
        [=, &device](std::span<void* const> at) {
          void* shifts = has_shift ? static_cast<std::byte*>(at[2]) + behind : nullptr;
          started(device::scale_shift_gradients(device.launch(precision), image, at[0], at[1], at[2], shifts,
                                                static_cast<float*>(scratch->data())));
        },
        scratch->bytes());
  }
  const bool forward = problem.pass == Pass::forward;
  return make_kernel("own:scale",
                     {data(forward ? TensorRole::input : TensorRole::output_gradient, false),
                      flat(TensorRole::bias, 0, trained, false, precision),
                      data(forward ? TensorRole::output : TensorRole::input_gradient, true)},
                     [=, &device](std::span<void* const> at) {
                       const void* shifts = has_shift && forward ? static_cast<const std::byte*>(at[1]) + behind : nullptr;
                       started(device::scale_shift(device.launch(precision), image, at[0], at[1], shifts, at[2]));
                     });
}

std::unique_ptr<PreparedKernel> prepare_scale(const Device& device, const Problem& problem) {
  return problem.operation->attribute_values().text("factor") == "trained" ? prepare_trained(device, problem)
                                                                           : prepare_constant(device, problem);
}

}  // namespace

const Kind scale{"scale", no_refusal, prepare_scale};

}  // namespace ddl::cuda
