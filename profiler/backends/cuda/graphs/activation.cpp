#include "profiler/backends/cuda/graphs/activation.hpp"

#include <algorithm>
#include <array>
#include <string_view>

namespace ddl::cuda {
namespace {

struct Mode {
  std::string_view name;
  cudnnPointwiseMode_t forward, backward;
  double slope = 0, ceiling = 0;  ///< of relu: below zero; above which it is flat, 0 for nowhere
};
constexpr std::array<Mode, 8> modes{{
    {"relu", CUDNN_POINTWISE_RELU_FWD, CUDNN_POINTWISE_RELU_BWD},
    {"relu6", CUDNN_POINTWISE_RELU_FWD, CUDNN_POINTWISE_RELU_BWD, 0, 6},
    {"leaky_relu", CUDNN_POINTWISE_RELU_FWD, CUDNN_POINTWISE_RELU_BWD, 0.01},
    {"tanh", CUDNN_POINTWISE_TANH_FWD, CUDNN_POINTWISE_TANH_BWD},
    {"sigmoid", CUDNN_POINTWISE_SIGMOID_FWD, CUDNN_POINTWISE_SIGMOID_BWD},
    {"gelu", CUDNN_POINTWISE_GELU_FWD, CUDNN_POINTWISE_GELU_BWD},
    {"silu", CUDNN_POINTWISE_SWISH_FWD, CUDNN_POINTWISE_SWISH_BWD},
    {"elu", CUDNN_POINTWISE_ELU_FWD, CUDNN_POINTWISE_ELU_BWD},
}};

}  // namespace

std::optional<ActivationGraph> activation_graph(const Problem& problem) {
  const AttributeText attributes(*problem.operation);
  const auto* mode =
      std::find_if(modes.begin(), modes.end(), [&](const Mode& one) { return one.name == attributes.text("kind"); });
  if (mode == modes.end()) return std::nullopt;
  ActivationGraph result;
  Graph& graph = result.graph;
  // No order matters: one row of all items.
  const Extents extents = dense({1, 1, problem.samples * problem.output.items()});
  const cudnnDataType_t type = data_type(problem.precision);
  Descriptor& function = graph.add_part(CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
  const bool forward = problem.pass == Pass::forward;
  const cudnnPointwiseMode_t chosen = forward ? mode->forward : mode->backward;
  function.set(CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, 1, &chosen);
  function.set(CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_DATA_FLOAT);
  if (mode->slope != 0) function.set(CUDNN_ATTR_POINTWISE_RELU_LOWER_CLIP_SLOPE, mode->slope);
  if (mode->ceiling != 0) function.set(CUDNN_ATTR_POINTWISE_RELU_UPPER_CLIP, mode->ceiling);
  if (mode->name == "elu") function.set(CUDNN_ATTR_POINTWISE_ELU_ALPHA, 1.0);
  if (mode->name == "silu") function.set(CUDNN_ATTR_POINTWISE_SWISH_BETA, 1.0);
  function.finish();
  result.input = graph.add_tensor(extents, type);
  if (forward) {
    result.output = graph.add_tensor(extents, type);
  } else {
    result.output_gradient = graph.add_tensor(extents, type);
    result.input_gradient = graph.add_tensor(extents, type);
  }
  Descriptor& operation = graph.add_operation(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
  operation.set(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, function);
  graph.attach(CUDNN_ATTR_OPERATION_POINTWISE_XDESC, result.input);
  if (forward) {
    graph.attach(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, result.output);
  } else {
    graph.attach(CUDNN_ATTR_OPERATION_POINTWISE_DYDESC, result.output_gradient);
    graph.attach(CUDNN_ATTR_OPERATION_POINTWISE_DXDESC, result.input_gradient);
  }
  graph.finish_operation();
  return result;
}

}  // namespace ddl::cuda
