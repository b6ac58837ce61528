#include "profiler/backends/onednn/blas_kernels.hpp"
#include "profiler/backends/onednn/descriptions.hpp"
#include "profiler/backends/onednn/kernels.hpp"
#include "profiler/backends/window_geometry.hpp"

namespace ddl::onednn {
namespace {

using dnnl::algorithm;
using dnnl::memory;
using dnnl::prop_kind;

/// Shapes of a convolution, transposed or not, in the library's convention.
struct Shapes {
  memory::desc source, destination, weights, bias;
  memory::dims stride, dilation, before, after;
  bool has_bias = false;
};

std::string refusal_convolution(const Problem& problem) {
  return problem.inputs.front().sequence ? "convolutions over tokens are not supported by this back end" : std::string();
}

Shapes shapes_of(const Problem& problem, bool transposed) {
  const TensorShape& input = problem.inputs.front();
  const AttributeValues attributes = problem.operation->attribute_values();
  const std::int64_t groups = attributes.integer("groups", 1);
  const WindowGeometry window = transposed ? window_geometry(*problem.operation, problem.output, input)
                                           : window_geometry(*problem.operation, input, problem.output);
  Shapes shapes;
  shapes.has_bias = attributes.flag("bias", true);
  shapes.source = tensor(input, problem.samples, problem.precision);
  shapes.destination = tensor(problem.output, problem.samples, problem.precision);
  // The weights of a transposed convolution have input channels first. This is the layout of the underlying convolution.
  memory::dims dims = transposed ? memory::dims{input.channels / groups, problem.output.channels / groups}
                                 : memory::dims{problem.output.channels / groups, input.channels / groups};
  for (std::size_t d = 0; d < static_cast<std::size_t>(input.rank); ++d) {
    dims.push_back(window.kernel[d]);
    shapes.stride.push_back(window.stride[d]);
    shapes.dilation.push_back(window.dilation[d] - 1);
    shapes.before.push_back(window.before[d]);
    shapes.after.push_back(window.after[d]);
  }
  if (groups > 1) dims.insert(dims.begin(), groups);
  shapes.weights = dense(dims, data_type(problem.precision));
  if (transposed) {
    // The library lists output channels first; the layout in memory does not change.
    memory::dims strides(dims.size(), 1);
    for (std::size_t d = dims.size() - 1; d-- > 0;) strides[d] = strides[d + 1] * dims[d + 1];
    const std::size_t first = groups > 1 ? 1 : 0;
    std::swap(dims[first], dims[first + 1]);
    std::swap(strides[first], strides[first + 1]);
    shapes.weights = memory::desc(dims, data_type(problem.precision), strides);
  }
  shapes.bias = dense({problem.output.channels}, data_type(problem.precision));
  return shapes;
}

std::int64_t items(const memory::desc& desc) {
  std::int64_t count = 1;
  for (const memory::dim size : dims_of(desc)) count *= size;
  return count;
}

template <class Forward, class BackwardData, class BackwardWeights>
std::unique_ptr<PreparedKernel> prepare_as(const Device& device, const Problem& problem, algorithm direct, bool transposed) {
  const Shapes s = shapes_of(problem, transposed);
  const dnnl::primitive_attr attributes = own_scratchpad();
  constexpr auto training = prop_kind::forward_training;
  const auto forward = s.has_bias ? describe<Forward>(device, attributes, training, direct, any(s.source), any(s.weights),
                                                      s.bias, any(s.destination), s.stride, s.dilation, s.before, s.after)
                                  : describe<Forward>(device, attributes, training, direct, any(s.source), any(s.weights),
                                                      any(s.destination), s.stride, s.dilation, s.before, s.after);
  const std::int64_t in = items(s.source);
  const std::int64_t out = items(s.destination);
  const std::int64_t weights = items(s.weights);
  std::vector<Argument> arguments;
  switch (problem.pass) {
    case Pass::forward:
      arguments = {{{TensorRole::input, 0, in, false}, DNNL_ARG_SRC, s.source, forward.src_desc()},
                   {{TensorRole::weight, 0, weights, false}, DNNL_ARG_WEIGHTS, s.weights, forward.weights_desc()},
                   {{TensorRole::output, 0, out, true}, DNNL_ARG_DST, s.destination, forward.dst_desc()}};
      if (s.has_bias) {
        arguments.push_back({{TensorRole::bias, 0, problem.output.channels, false}, DNNL_ARG_BIAS, s.bias, s.bias});
      }
      return primitive_kernel(device, Forward(forward), forward.scratchpad_desc(), forward.impl_info_str(), arguments);
    case Pass::backward_data: {
      const auto backward =
          describe_backward<BackwardData>(device, attributes, forward, direct, any(s.source), any(s.weights),
                                          any(s.destination), s.stride, s.dilation, s.before, s.after);
      arguments = {
          {{TensorRole::output_gradient, 0, out, false}, DNNL_ARG_DIFF_DST, s.destination, backward.diff_dst_desc()},
          {{TensorRole::weight, 0, weights, false}, DNNL_ARG_WEIGHTS, s.weights, backward.weights_desc()},
          {{TensorRole::input_gradient, 0, in, true}, DNNL_ARG_DIFF_SRC, s.source, backward.diff_src_desc()}};
      return primitive_kernel(device, BackwardData(backward), backward.scratchpad_desc(), backward.impl_info_str(),
                              arguments);
    }
    default: {
      const auto backward =
          s.has_bias
              ? describe_backward<BackwardWeights>(device, attributes, forward, direct, any(s.source), any(s.weights),
                                                   s.bias, any(s.destination), s.stride, s.dilation, s.before, s.after)
              : describe_backward<BackwardWeights>(device, attributes, forward, direct, any(s.source), any(s.weights),
                                                   any(s.destination), s.stride, s.dilation, s.before, s.after);
      arguments = {
          {{TensorRole::input, 0, in, false}, DNNL_ARG_SRC, s.source, backward.src_desc()},
          {{TensorRole::output_gradient, 0, out, false}, DNNL_ARG_DIFF_DST, s.destination, backward.diff_dst_desc()},
          {{TensorRole::weight_gradient, 0, weights, true}, DNNL_ARG_DIFF_WEIGHTS, s.weights, backward.diff_weights_desc()}};
      if (s.has_bias) {
        arguments.push_back(
            {{TensorRole::bias_gradient, 0, problem.output.channels, true}, DNNL_ARG_DIFF_BIAS, s.bias, s.bias});
      }
      return primitive_kernel(device, BackwardWeights(backward), backward.scratchpad_desc(), backward.impl_info_str(),
                              arguments);
    }
  }
}

std::unique_ptr<PreparedKernel> prepare_convolution(const Device& device, const Problem& problem) {
  if (is_product_of_framework(device, problem)) return prepare_blas_convolution(device, problem);
  return prepare_as<dnnl::convolution_forward, dnnl::convolution_backward_data, dnnl::convolution_backward_weights>(
      device, problem, algorithm::convolution_direct, false);
}

std::unique_ptr<PreparedKernel> prepare_transposed(const Device& device, const Problem& problem) {
  return prepare_as<dnnl::deconvolution_forward, dnnl::deconvolution_backward_data, dnnl::deconvolution_backward_weights>(
      device, problem, algorithm::deconvolution_direct, true);
}

}  // namespace

const Kind convolution{"convolution", refusal_convolution, prepare_convolution};
const Kind transposed_convolution{"transposed_convolution", refusal_convolution, prepare_transposed};

}  // namespace ddl::onednn
