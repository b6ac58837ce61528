#include "profiler/backends/cuda/graphs/activation.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include "core/error.hpp"
#include "profiler/attribute_text.hpp"
#include "profiler/backends/cuda/kernels.hpp"

namespace ddl::cuda {
namespace {

using device::Function;

constexpr std::array<std::pair<std::string_view, Function>, 9> functions{{
    {"relu", Function::relu},
    {"relu6", Function::relu6},
    {"leaky_relu", Function::leaky_relu},
    {"tanh", Function::tanh},
    {"sigmoid", Function::sigmoid},
    {"gelu", Function::gelu},
    {"silu", Function::silu},
    {"hardswish", Function::hardswish},
    {"elu", Function::elu},
}};

std::optional<Function> find_function(const Problem& problem) {
  const AttributeText attributes(*problem.operation);
  const auto* found = std::find_if(functions.begin(), functions.end(),
                                   [&](const auto& function) { return function.first == attributes.text("kind"); });
  return found == functions.end() ? std::nullopt : std::optional(found->second);
}

std::string refusal(const Problem& problem) {
  if (find_function(problem)) return {};
  return "the function " + std::string(AttributeText(*problem.operation).text("kind")) + " is not in this back end";
}

std::unique_ptr<PreparedKernel> prepare(const Device& device, const Problem& problem) {
  if (problem.pass == Pass::backward_weight) return empty_kernel();
  const Precision precision = problem.precision;
  const std::int64_t items = problem.samples * problem.output.items();
  const bool forward = problem.pass == Pass::forward;
  const KernelTensor input = flat(TensorRole::input, 0, items, false, precision);
  std::vector<KernelTensor> tensors{input};
  if (forward) {
    tensors.push_back(flat(TensorRole::output, 0, items, true, precision));
  } else {
    tensors.push_back(flat(TensorRole::output_gradient, 0, items, false, precision));
    tensors.push_back(flat(TensorRole::input_gradient, 0, items, true, precision));
  }
  if (std::optional<ActivationGraph> made = activation_graph(problem)) {
    const auto from = made->input;
    const auto to = made->output;
    const auto gradient = made->output_gradient;
    const auto result = made->input_gradient;
    if (const auto runner = run_graph(device, std::move(made->graph), precision, print_problem(problem))) {
      return make_kernel(
          runner->name(), std::move(tensors),
          [&device, runner, forward, from, to, gradient, result](std::span<void* const> at) {
            if (forward) {
              runner->run(device, {{from, at[0]}, {to, at[1]}});
            } else {
              runner->run(device, {{from, at[0]}, {gradient, at[1]}, {result, at[2]}});
            }
          },
          runner->workspace());
    }
  }
  const Function function = *find_function(problem);
  return make_kernel("own:activation", std::move(tensors),
                     [&device, function, forward, items, precision](std::span<void* const> at) {
                       const device::Launch launch = device.launch(precision);
                       started(forward ? device::apply(launch, function, at[0], at[1], items)
                                       : device::apply_backward(launch, function, at[0], at[1], at[2], items));
                     });
}

}  // namespace

const Kind activation{"activation", refusal, prepare};

}  // namespace ddl::cuda
