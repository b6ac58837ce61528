#include "profiler/backends/cuda/graphs/pool.hpp"

#include "profiler/backends/cuda/kernels.hpp"
#include "profiler/backends/window_geometry.hpp"

namespace ddl::cuda {
namespace {

/// Tokens have the layout of an image with innermost channels.
ImageLayout layout_of(const Device& device, const Problem& problem) {
  return problem.output.sequence ? ImageLayout::channels_last : device.options.layout;
}

device::Windows windows_of(const Device& device, const Problem& problem) {
  const TensorShape& input = problem.inputs.front();
  const AttributeValues attributes = problem.operation->attribute_values();
  device::Windows windows;
  windows.input = image_of(device, input, problem.samples);
  windows.is_max = attributes.text("kind") == "max";
  windows.adaptive = attributes.has("adaptive");
  windows.counts_rim = !windows.adaptive && attributes.text("padding") != "same";
  const WindowGeometry window = windows.adaptive ? WindowGeometry{} : pool_window(problem);
  for (std::size_t d = 0; d < 3; ++d) {
    windows.in[d] = input.extent[d];
    windows.out[d] = problem.output.extent[d];
    windows.kernel[d] = window.kernel[d];
    windows.stride[d] = window.stride[d];
    windows.before[d] = window.before[d];
  }
  return windows;
}

bool pools_by_library(const Device& device, const Problem& problem) {
  return has_window(problem) && library_runs(device, problem, [&](const Problem& pass) {
           return pool_graph(pass, pool_window(pass), layout_of(device, pass)).graph;
         });
}

std::unique_ptr<PreparedKernel> prepare_pool(const Device& device, const Problem& problem) {
  if (problem.pass == Pass::backward_weight) return empty_kernel();
  const TensorShape& input = problem.inputs.front();
  const bool is_max = problem.operation->attribute_values().text("kind") == "max";
  const bool forward = problem.pass == Pass::forward;
  const Precision precision = problem.precision;
  std::vector<KernelTensor> tensors;
  if (forward) {
    tensors = {image_tensor(device, TensorRole::input, 0, input, problem, false),
               image_tensor(device, TensorRole::output, 0, problem.output, problem, true)};
  } else {
    tensors = {image_tensor(device, TensorRole::input_gradient, 0, input, problem, true),
               image_tensor(device, TensorRole::output_gradient, 0, problem.output, problem, false)};
  }
  const std::int64_t items = problem.samples * problem.output.items();

  if (pools_by_library(device, problem)) {
    PoolGraph made = pool_graph(problem, pool_window(problem), layout_of(device, problem));
    const auto large = made.large;
    const auto small = made.small;
    const auto winners = made.winners;
    const auto runner = std::make_shared<GraphRunner>(device, std::move(made.graph), precision, print_problem(problem));
    if (is_max) {
      tensors.push_back(flat(TensorRole::kept, 0, items, forward, Precision::fp32));
      tensors.back().bytes = true;
    }
    return make_kernel(
        runner->name(), std::move(tensors),
        [&device, runner, large, small, winners](std::span<void* const> at) {
          std::vector<std::pair<Graph::Tensor, void*>> addresses{{large, at[0]}, {small, at[1]}};
          if (at.size() > 2) addresses.emplace_back(winners, at[2]);
          runner->run(device, std::move(addresses));
        },
        runner->workspace());
  }
  if (is_max) tensors.push_back(flat(TensorRole::kept, 0, items, forward, Precision::fp32));
  const device::Windows windows = windows_of(device, problem);
  return make_kernel("own:pool", std::move(tensors), [=, &device](std::span<void* const> at) {
    const device::Launch launch = device.launch(precision);
    auto* winners = at.size() > 2 ? static_cast<std::int32_t*>(at[2]) : nullptr;
    started(forward ? device::pool(launch, windows, at[0], winners, at[1])
                    : device::pool_backward(launch, windows, at[1], winners, at[0]));
  });
}

}  // namespace

const Kind pool{"pool", no_refusal, prepare_pool};

}  // namespace ddl::cuda
