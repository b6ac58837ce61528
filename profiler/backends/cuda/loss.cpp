#include "profiler/attribute_text.hpp"
#include "profiler/backends/cuda/kernels.hpp"

namespace ddl::cuda {
namespace {

std::string refusal(const Problem& problem) {
  if (problem.inputs.size() > 1) return "the sum of several losses is not in this back end";
  const TensorShape& input = problem.inputs.front();
  if (AttributeText(*problem.operation).text("kind") == "cross_entropy" && !input.sequence && input.rank > 0) {
    return "the cross entropy of an image's positions is not in this back end";
  }
  return {};
}

// The mean over rows of samples or tokens, in fp32 whatever the precision, as autocast has it. What should come out is made
// up: class `row modulo classes`, and zero for the mean square; time does not depend on it.
std::unique_ptr<PreparedKernel> prepare(const Device& device, const Problem& problem) {
  if (problem.pass == Pass::backward_weight) return empty_kernel();
  const Precision precision = problem.precision;
  const std::int64_t classes = problem.inputs.front().channels;
  const std::int64_t items = problem.samples * problem.inputs.front().items();
  const std::int64_t rows = items / classes;
  const KernelTensor input = flat(TensorRole::input, 0, items, false, precision);
  const KernelTensor output = flat(TensorRole::output, 0, 1, true, Precision::fp32);
  const KernelTensor gradient = flat(TensorRole::output_gradient, 0, 1, false, Precision::fp32);
  const KernelTensor to_input = flat(TensorRole::input_gradient, 0, items, true, precision);
  const bool forward = problem.pass == Pass::forward;
  const auto scratch = [](std::int64_t count) {
    return std::make_shared<DeviceMemory>(buffer_bytes(count, Precision::fp32, false));
  };
  const auto floats = [](void* data) { return static_cast<float*>(data); };
  if (AttributeText(*problem.operation).text("kind") != "cross_entropy") {
    if (forward) {
      const auto partial = scratch(device::square_parts(items));
      return make_kernel(
          "own:mse", {input, output},
          [=, &device](std::span<void* const> at) {
            started(device::mean_square(device.launch(precision), at[0], floats(partial->data()), floats(at[1]), items));
          },
          partial->bytes());
    }
    return make_kernel("own:mse", {input, gradient, to_input}, [=, &device](std::span<void* const> at) {
      started(device::mean_square_backward(device.launch(precision), at[0], floats(at[1]), at[2], items));
    });
  }
  const KernelTensor logarithms = flat(TensorRole::kept, 0, items, forward, Precision::fp32);
  if (forward) {
    const auto row_losses = scratch(rows);
    return make_kernel(
        "own:cross_entropy", {input, logarithms, output},
        [=, &device](std::span<void* const> at) {
          started(device::cross_entropy(device.launch(precision), at[0], floats(at[1]), floats(row_losses->data()),
                                        floats(at[2]), rows, classes));
        },
        row_losses->bytes());
  }
  return make_kernel("own:cross_entropy", {logarithms, gradient, to_input}, [=, &device](std::span<void* const> at) {
    started(device::cross_entropy_backward(device.launch(precision), floats(at[0]), floats(at[1]), at[2], rows, classes));
  });
}

}  // namespace

const Kind loss{"loss", refusal, prepare};

}  // namespace ddl::cuda
