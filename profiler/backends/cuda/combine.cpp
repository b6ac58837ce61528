#include "profiler/backends/cuda/routing.hpp"
#include "profiler/backends/cuda/status.hpp"

namespace ddl::cuda {
namespace {

std::unique_ptr<PreparedKernel> prepare_combine(const Device& device, const Problem& problem) {
  if (problem.pass == Pass::backward_weight) return empty_kernel();
  const std::int64_t experts = problem.inputs[1].channels;
  const std::int64_t channels = problem.output.channels;
  const std::int64_t rows = problem.samples * problem.output.positions();
  const std::int64_t copies = problem.samples * problem.inputs[0].positions();
  const Precision precision = problem.precision;
  const bool forward = problem.pass == Pass::forward;
  const Routing routing(rows, experts, copies / rows);
  std::vector<KernelTensor> tensors = routing.kept(forward);
  tensors.push_back(flat(TensorRole::input, 0, copies * channels, false, precision));
  tensors.push_back(flat(TensorRole::input, 1, rows * experts, false, precision));
  if (forward) {
    tensors.push_back(flat(TensorRole::output, 0, rows * channels, true, precision));
    return make_kernel(
        "own:route+own:add_copies", std::move(tensors),
        [=, &device](std::span<void* const> at) {
          routing.work_out(device, precision, at[4], at);
          started(device::add_copies(device.launch(precision), routing.routes(channels, at), at[3], at[4], at[5], rows));
        },
        routing.workspace());
  }
  tensors.push_back(flat(TensorRole::output_gradient, 0, rows * channels, false, precision));
  tensors.push_back(flat(TensorRole::input_gradient, 0, copies * channels, true, precision));
  tensors.push_back(flat(TensorRole::input_gradient, 1, rows * experts, true, precision));
  const std::size_t weight_bytes = buffer_bytes(rows * experts, precision, false);
  return make_kernel("own:combine", std::move(tensors), [=, &device](std::span<void* const> at) {
    check(cudaMemsetAsync(at[7], 0, weight_bytes, device.stream), "clearing a gradient");
    started(device::combine_backward(device.launch(precision), routing.routes(channels, at), at[3], at[4], at[5], at[6],
                                     at[7], rows));
  });
}

// A token can have at most as many copies as there are experts.
std::string refusal_combine(const Problem& problem) {
  return problem.inputs[0].extent[0] / problem.inputs[1].extent[0] > problem.inputs[1].channels
             ? "more copies of a token than experts are not supported by this back end"
             : std::string();
}

}  // namespace

const Kind combine{"combine", refusal_combine, prepare_combine};

}  // namespace ddl::cuda
