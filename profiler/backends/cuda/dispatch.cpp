#include "profiler/backends/cuda/routing.hpp"

namespace ddl::cuda {
namespace {

// The router's choice of experts has no gradient. `combine` computes the gradient of the weights of the chosen experts.
std::unique_ptr<PreparedKernel> prepare_dispatch(const Device& device, const Problem& problem) {
  if (problem.pass == Pass::backward_weight) return empty_kernel();
  const std::int64_t active = problem.operation->attribute_values().integer("active", 1);
  const std::int64_t experts = problem.inputs[1].channels;
  const std::int64_t channels = problem.output.channels;
  const std::int64_t rows = problem.samples * problem.inputs[0].positions();
  const Precision precision = problem.precision;
  const bool forward = problem.pass == Pass::forward;
  const Routing routing(rows, experts, active);
  std::vector<KernelTensor> tensors = routing.kept(forward);
  if (forward) {
    tensors.push_back(flat(TensorRole::input, 0, rows * channels, false, precision));
    tensors.push_back(flat(TensorRole::input, 1, rows * experts, false, precision));
    tensors.push_back(flat(TensorRole::output, 0, rows * active * channels, true, precision));
    return make_kernel(
        "own:route+own:gather", std::move(tensors),
        [=, &device](std::span<void* const> at) {
          routing.work_out(device, precision, at[4], at);
          started(device::gather_rows(device.launch(precision), at[3], Routing::tokens(at), at[5], rows * active, channels));
        },
        routing.workspace());
  }
  tensors.push_back(flat(TensorRole::output_gradient, 0, rows * active * channels, false, precision));
  tensors.push_back(flat(TensorRole::input_gradient, 0, rows * channels, true, precision));
  return make_kernel("own:add_copies", std::move(tensors), [=, &device](std::span<void* const> at) {
    started(device::add_copies(device.launch(precision), routing.routes(channels, at), at[3], nullptr, at[4], rows));
  });
}

// A token can have at most as many copies as there are experts.
std::string refusal_dispatch(const Problem& problem) {
  return problem.operation->attribute_values().integer("active", 1) > problem.inputs[1].channels
             ? "more copies of a token than experts are not supported by this back end"
             : std::string();
}

}  // namespace

const Kind dispatch{"dispatch", refusal_dispatch, prepare_dispatch};

}  // namespace ddl::cuda
