#include "profiler/backends/onednn/blas_kernels.hpp"
#include "profiler/backends/onednn/descriptions.hpp"
#include "profiler/backends/onednn/experts.hpp"

namespace ddl::onednn {
namespace {

using dnnl::memory;

bool has_experts(const Problem& problem) { return problem.operation->attribute_values().has("experts"); }

std::string refusal_fully_connected(const Problem& problem) {
  return has_experts(problem) ? only_fp32(problem) : std::string();
}

// Frameworks pass plain matrices to a matrix product, so the library cannot choose a layout. Rows are samples, or tokens.
std::unique_ptr<PreparedKernel> prepare_fully_connected(const Device& device, const Problem& problem) {
  if (has_experts(problem)) return prepare_experts(device, problem);
  if (device.blas != nullptr && problem.precision == Precision::fp32) return prepare_blas_fully_connected(device, problem);
  const memory::data_type type = data_type(problem.precision);
  const std::int64_t rows = problem.samples * problem.inputs.front().positions();
  const std::int64_t from = problem.inputs.front().channels;
  const std::int64_t to = problem.output.channels;
  const memory::desc source = dense({rows, from}, type);
  const memory::desc weights = dense({to, from}, type);
  const memory::desc destination = dense({rows, to}, type);
  const memory::desc bias = dense({to}, type);
  const bool has_bias = problem.operation->attribute_values().flag("bias", true);
  const dnnl::primitive_attr attributes = own_scratchpad();
  const auto kind = dnnl::prop_kind::forward_training;
  const auto forward =
      has_bias ? describe<dnnl::inner_product_forward>(device, attributes, kind, source, weights, bias, destination)
               : describe<dnnl::inner_product_forward>(device, attributes, kind, source, weights, destination);
  const KernelTensor input{TensorRole::input, 0, rows * from, false};
  const KernelTensor weight{TensorRole::weight, 0, to * from, false};
  std::vector<Argument> arguments;
  switch (problem.pass) {
    case Pass::forward:
      arguments = {{input, DNNL_ARG_SRC, source, source},
                   {weight, DNNL_ARG_WEIGHTS, weights, weights},
                   {{TensorRole::output, 0, rows * to, true}, DNNL_ARG_DST, destination, destination}};
      if (has_bias) arguments.push_back({{TensorRole::bias, 0, to, false}, DNNL_ARG_BIAS, bias, bias});
      return primitive_kernel(device, dnnl::inner_product_forward(forward), forward.scratchpad_desc(),
                              forward.impl_info_str(), arguments);
    case Pass::backward_data: {
      const auto backward =
          describe_backward<dnnl::inner_product_backward_data>(device, attributes, forward, source, weights, destination);
      arguments = {{{TensorRole::output_gradient, 0, rows * to, false}, DNNL_ARG_DIFF_DST, destination, destination},
                   {weight, DNNL_ARG_WEIGHTS, weights, weights},
                   {{TensorRole::input_gradient, 0, rows * from, true}, DNNL_ARG_DIFF_SRC, source, source}};
      return primitive_kernel(device, dnnl::inner_product_backward_data(backward), backward.scratchpad_desc(),
                              backward.impl_info_str(), arguments);
    }
    default: {
      const auto backward = has_bias ? describe_backward<dnnl::inner_product_backward_weights>(
                                           device, attributes, forward, source, weights, bias, destination)
                                     : describe_backward<dnnl::inner_product_backward_weights>(device, attributes, forward,
                                                                                               source, weights, destination);
      arguments = {{input, DNNL_ARG_SRC, source, source},
                   {{TensorRole::output_gradient, 0, rows * to, false}, DNNL_ARG_DIFF_DST, destination, destination},
                   {{TensorRole::weight_gradient, 0, to * from, true}, DNNL_ARG_DIFF_WEIGHTS, weights, weights}};
      if (has_bias) arguments.push_back({{TensorRole::bias_gradient, 0, to, true}, DNNL_ARG_DIFF_BIAS, bias, bias});
      return primitive_kernel(device, dnnl::inner_product_backward_weights(backward), backward.scratchpad_desc(),
                              backward.impl_info_str(), arguments);
    }
  }
}

}  // namespace

const Kind fully_connected{"fully_connected", refusal_fully_connected, prepare_fully_connected};

}  // namespace ddl::onednn
