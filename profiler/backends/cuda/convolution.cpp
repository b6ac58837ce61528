#include "profiler/backends/cuda/graphs/convolution.hpp"

#include <utility>

#include "profiler/backends/cuda/kernels.hpp"
#include "profiler/backends/window_geometry.hpp"

namespace ddl::cuda {
namespace {

std::string refusal_convolution(const Problem& problem) {
  return problem.inputs.front().sequence ? "convolutions over tokens are not supported by this back end" : std::string();
}

std::int64_t volume(const WindowGeometry& window) { return window.kernel[0] * window.kernel[1] * window.kernel[2]; }

std::unique_ptr<PreparedKernel> prepare_convolution(const Device& device, const Problem& problem) {
  const AttributeValues attributes = problem.operation->attribute_values();
  const bool has_bias = attributes.flag("bias", true);
  const Precision precision = problem.precision;
  ConvolutionGraph made = convolution_graph(problem, device.options.layout);
  const bool transposed = made.transposed;
  const auto runner = std::make_shared<GraphRunner>(device, std::move(made.graph), precision, print_problem(problem));
  const WindowGeometry window = made.window;
  const auto large = made.large;
  const auto small = made.small;
  const auto weights = made.weights;

  const TensorShape& input = problem.inputs.front();
  const std::int64_t groups = attributes.integer("groups", 1);
  const std::int64_t filters = transposed ? input.channels : problem.output.channels;
  const std::int64_t channels = (transposed ? problem.output.channels : input.channels) / groups;
  const auto weight = [&](TensorRole role, bool written) {
    KernelTensor tensor = flat(role, 0, filters * channels * volume(window), written, precision);
    if (device.options.layout == ImageLayout::channels_last) {
      tensor.channels = channels;
      tensor.positions = volume(window);
    }
    return tensor;
  };
  const auto result = image_tensor(device, TensorRole::output_gradient, 0, problem.output, problem, false);
  const device::Image image = image_of(device, problem.output, problem.samples);

  switch (problem.pass) {
    case Pass::forward: {
      std::vector<KernelTensor> tensors{image_tensor(device, TensorRole::input, 0, input, problem, false),
                                        weight(TensorRole::weight, false),
                                        image_tensor(device, TensorRole::output, 0, problem.output, problem, true)};
      if (has_bias) tensors.push_back(flat(TensorRole::bias, 0, problem.output.channels, false, precision));
      const auto from = transposed ? small : large;
      const auto to = transposed ? large : small;
      return make_kernel(
          runner->name() + (has_bias ? "+own:bias" : ""), std::move(tensors),
          [&device, runner, from, to, weights, has_bias, image, precision](std::span<void* const> at) {
            runner->run(device, {{from, at[0]}, {weights, at[1]}, {to, at[2]}});
            if (has_bias) started(device::add_bias(device.launch(precision), image, at[3], at[2]));
          },
          runner->workspace());
    }
    case Pass::backward_data: {
      const auto from = transposed ? large : small;
      const auto to = transposed ? small : large;
      return make_kernel(
          runner->name(),
          {result, weight(TensorRole::weight, false),
           image_tensor(device, TensorRole::input_gradient, 0, input, problem, true)},
          [&device, runner, from, to, weights](std::span<void* const> at) {
            runner->run(device, {{from, at[0]}, {weights, at[1]}, {to, at[2]}});
          },
          runner->workspace());
    }
    default:
      break;
  }
  std::vector<KernelTensor> tensors{image_tensor(device, TensorRole::input, 0, input, problem, false), result,
                                    weight(TensorRole::weight_gradient, true)};
  const auto of_input = transposed ? small : large;
  const auto of_output = transposed ? large : small;
  const auto partial = std::make_shared<DeviceMemory>(
      has_bias ? buffer_bytes(device::channel_sum_parts(image) * image.channels, Precision::fp32, false) : 0);
  if (has_bias) tensors.push_back(flat(TensorRole::bias_gradient, 0, problem.output.channels, true, precision));
  return make_kernel(
      runner->name() + (has_bias ? "+own:sum" : ""), std::move(tensors),
      [&device, runner, of_input, of_output, weights, has_bias, partial, image, precision](std::span<void* const> at) {
        runner->run(device, {{of_input, at[0]}, {of_output, at[1]}, {weights, at[2]}});
        if (!has_bias) return;
        started(device::channel_sums(device.launch(precision), image, at[1], static_cast<float*>(partial->data()), at[3]));
      },
      runner->workspace() + partial->bytes());
}

}  // namespace

const Kind convolution{"convolution", refusal_convolution, prepare_convolution};
const Kind transposed_convolution{"transposed_convolution", refusal_convolution, prepare_convolution};

}  // namespace ddl::cuda
