#include "profiler/backends/cuda/arrangement.hpp"

#include <algorithm>
#include <utility>

#include "core/error.hpp"
#include "profiler/backends/cuda/status.hpp"

namespace ddl::cuda {

ImageSteps::ImageSteps(const Device& device, const TensorShape& shape) : sample(shape.items()) {
  const bool innermost = image_of(device, shape, 1).channels_innermost;
  channel = innermost ? 1 : shape.positions();
  std::int64_t step = innermost ? shape.channels : 1;
  for (std::size_t d = extent.size(); d-- > 0;) {
    extent[d] = step;
    step *= shape.extent[d];
  }
}

device::Order order_of(std::vector<CopiedDimension> dimensions, std::int64_t start, bool back) {
  if (back) {
    for (CopiedDimension& one : dimensions) std::swap(one.input, one.output);
  }
  std::erase_if(dimensions, [](const CopiedDimension& one) { return one.size == 1; });
  std::stable_sort(dimensions.begin(), dimensions.end(),
                   [](const CopiedDimension& a, const CopiedDimension& b) { return a.output > b.output; });
  // Merges two dimensions that are contiguous in both tensors, which saves divisions per element.
  std::vector<CopiedDimension> joined;
  for (const CopiedDimension& one : dimensions) {
    if (!joined.empty() && joined.back().input == one.input * one.size && joined.back().output == one.output * one.size) {
      joined.back() = {joined.back().size * one.size, one.input, one.output};
    } else {
      joined.push_back(one);
    }
  }
  if (joined.empty()) joined.push_back({1, 1, 1});
  if (joined.size() > device::Order::most) throw Error("a copy has too many dimensions");
  device::Order order;
  for (const CopiedDimension& one : joined) {
    const int d = order.dimensions++;
    order.size[d] = one.size;
    order.from[d] = one.input;
    order.to[d] = one.output;
  }
  (back ? order.to_start : order.from_start) = start;
  return order;
}

std::unique_ptr<PreparedKernel> prepare_arrangement(const Device& device, const Problem& problem,
                                                    const std::vector<CopiedDimension>& dimensions, std::int64_t start) {
  if (problem.pass == Pass::backward_weight) return empty_kernel();
  const bool forward = problem.pass == Pass::forward;
  const TensorShape& input = problem.inputs.front();
  const Precision precision = problem.precision;
  const KernelTensor from = forward ? image_tensor(device, TensorRole::input, 0, input, problem, false)
                                    : image_tensor(device, TensorRole::output_gradient, 0, problem.output, problem, false);
  const KernelTensor to = forward ? image_tensor(device, TensorRole::output, 0, problem.output, problem, true)
                                  : image_tensor(device, TensorRole::input_gradient, 0, input, problem, true);
  const device::Order order = order_of(dimensions, start, !forward);
  const std::size_t cleared = from.items < to.items ? buffer_bytes(to.items, precision, false) : 0;
  return make_kernel("own:copy", {from, to}, [&device, order, cleared, precision](std::span<void* const> at) {
    if (cleared > 0) check(cudaMemsetAsync(at[1], 0, cleared, device.stream), "clearing a gradient");
    started(device::rearrange(device.launch(precision), order, at[0], at[1]));
  });
}

}  // namespace ddl::cuda
