#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "profiler/backends/onednn/descriptions.hpp"
#include "profiler/backends/onednn/kernels.hpp"

namespace ddl::onednn {
namespace {

using dnnl::algorithm;

/// An element-wise function of oneDNN. It is computed from its input. If a function keeps its
/// output, its gradient is computed from the output; otherwise from the input.
struct Function {
  std::string_view name;
  algorithm from_input, from_output;
  float alpha, beta;
};
constexpr auto none = algorithm::undef;
constexpr std::array<Function, 10> functions{{
    {"relu", algorithm::eltwise_relu, algorithm::eltwise_relu_use_dst_for_bwd, 0, 0},
    {"relu6", algorithm::eltwise_clip, none, 0, 6},
    {"leaky_relu", algorithm::eltwise_relu, none, 0.01F, 0},
    {"tanh", algorithm::eltwise_tanh, algorithm::eltwise_tanh_use_dst_for_bwd, 0, 0},
    {"sigmoid", algorithm::eltwise_logistic, algorithm::eltwise_logistic_use_dst_for_bwd, 0, 0},
    {"gelu", algorithm::eltwise_gelu_erf, none, 0, 0},
    {"silu", algorithm::eltwise_swish, none, 1, 0},
    {"hardswish", algorithm::eltwise_hardswish, none, 1.0F / 6, 0.5F},  // the only constructor in version 2
    {"softplus", algorithm::eltwise_soft_relu, none, 1, 0},
    {"elu", algorithm::eltwise_elu, algorithm::eltwise_elu_use_dst_for_bwd, 1, 0},
}};

const Function* find_function(const Problem& problem) {
  const AttributeValues attributes = problem.operation->attribute_values();
  const auto* found = std::find_if(functions.begin(), functions.end(),
                                   [&](const Function& function) { return function.name == attributes.text("kind"); });
  return found == functions.end() ? nullptr : found;
}

bool is_hardsigmoid(const Problem& problem) { return problem.operation->attribute_values().text("kind") == "hardsigmoid"; }

/// Prepares hardsigmoid, which oneDNN has from version 2.7 on.
std::unique_ptr<PreparedKernel> prepare_hardsigmoid(const Problem& problem) {
  const std::int64_t items = problem.samples * problem.output.items();
  const KernelTensor input{TensorRole::input, 0, items, false};
  if (problem.pass == Pass::forward) {
    return loop_kernel({input, {TensorRole::output, 0, items, true}}, [items](std::span<DeviceBuffer* const> buffers) {
      const float* from = floats(buffers[0]);
      float* to = floats(buffers[1]);
      for (std::int64_t i = 0; i < items; ++i) to[i] = std::min(std::max(from[i] + 3, 0.0F), 6.0F) / 6;
    });
  }
  return loop_kernel({input, {TensorRole::output_gradient, 0, items, false}, {TensorRole::input_gradient, 0, items, true}},
                     [items](std::span<DeviceBuffer* const> buffers) {
                       const float* from = floats(buffers[0]);
                       const float* gradient = floats(buffers[1]);
                       float* to = floats(buffers[2]);
                       for (std::int64_t i = 0; i < items; ++i) {
                         to[i] = from[i] > -3 && from[i] < 3 ? gradient[i] / 6 : 0.0F;
                       }
                     });
}

std::string refusal_activation(const Problem& problem) {
  if (is_hardsigmoid(problem)) return only_fp32(problem);
  if (find_function(problem) != nullptr) return {};
  return fmt::format("the function {} is not supported by this back end",
                     problem.operation->attribute_values().text("kind"));
}

std::unique_ptr<PreparedKernel> prepare_activation(const Device& device, const Problem& problem) {
  if (problem.pass == Pass::backward_weight) return empty_kernel();
  if (is_hardsigmoid(problem)) return prepare_hardsigmoid(problem);
  const Function& function = *find_function(problem);
  const std::int64_t items = problem.samples * problem.output.items();
  const dnnl::memory::desc data = dense({items}, data_type(problem.precision));
  const dnnl::primitive_attr scratch = own_scratchpad();
  const auto forward = [&](algorithm kind) {
    return describe_function(device, scratch, kind, data, function.alpha, function.beta);
  };
  if (problem.pass == Pass::forward) {
    const auto description = forward(function.from_input);
    return primitive_kernel(device, dnnl::eltwise_forward(description), description.scratchpad_desc(),
                            description.impl_info_str(),
                            {{{TensorRole::input, 0, items, false}, DNNL_ARG_SRC, data, data},
                             {{TensorRole::output, 0, items, true}, DNNL_ARG_DST, data, data}});
  }

  const bool by_output = function.from_output != none;
  const algorithm kind = by_output ? function.from_output : function.from_input;
  const dnnl::eltwise_backward::primitive_desc backward =
      describe_function_backward(device, scratch, forward(kind), kind, data, function.alpha, function.beta);
  const Argument kept = by_output ? Argument{{TensorRole::output, 0, items, false}, DNNL_ARG_DST, data, data}
                                  : Argument{{TensorRole::input, 0, items, false}, DNNL_ARG_SRC, data, data};
  return primitive_kernel(device, dnnl::eltwise_backward(backward), backward.scratchpad_desc(), backward.impl_info_str(),
                          {kept,
                           {{TensorRole::output_gradient, 0, items, false}, DNNL_ARG_DIFF_DST, data, data},
                           {{TensorRole::input_gradient, 0, items, true}, DNNL_ARG_DIFF_SRC, data, data}});
}

}  // namespace

const Kind activation{"activation", refusal_activation, prepare_activation};

}  // namespace ddl::onednn
