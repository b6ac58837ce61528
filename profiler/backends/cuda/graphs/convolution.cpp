#include "profiler/backends/cuda/graphs/convolution.hpp"

namespace ddl::cuda {
namespace {

enum class Direction { forward, data, weights };

/// The direction of the underlying convolution. The forward pass of a transposed convolution runs its data gradient.
Direction direction_of(Pass pass, bool transposed) {
  if (pass == Pass::forward) return transposed ? Direction::data : Direction::forward;
  if (pass == Pass::backward_data) return transposed ? Direction::forward : Direction::data;
  return Direction::weights;
}

struct Names {
  cudnnBackendDescriptorType_t operation;
  cudnnBackendAttributeName_t convolution, alpha, beta, large, weights, small;
};

Names names_of(Direction direction) {
  switch (direction) {
    case Direction::forward:
      return {CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y};
    case Direction::data:
      return {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY};
    case Direction::weights:
      break;
  }
  return {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
          CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
          CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
          CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA,
          CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
          CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
          CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY};
}

}  // namespace

ConvolutionGraph convolution_graph(const Problem& problem, ImageLayout layout) {
  const TensorShape& input = problem.inputs.front();
  ConvolutionGraph result;
  const bool transposed = problem.operation->type() == "transposed_convolution";
  result.transposed = transposed;
  const std::int64_t groups = problem.operation->attribute_values().integer("groups", 1);
  const TensorShape& large = transposed ? problem.output : input;
  const TensorShape& small = transposed ? input : problem.output;
  const WindowGeometry window = window_geometry(*problem.operation, large, small);
  result.window = window;
  const cudnnDataType_t type = data_type(problem.precision);
  Graph& graph = result.graph;
  result.large = graph.add_tensor(image(large, problem.samples, layout), type);
  result.weights =
      graph.add_tensor(filters(small.channels, large.channels / groups, window.kernel, large.rank, layout), type);
  result.small = graph.add_tensor(image(small, problem.samples, layout), type);

  Descriptor& description = graph.add_part(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
  const std::vector<std::int64_t> stride = window_sizes(window.stride, large.rank, 1);
  const cudnnConvolutionMode_t mode = CUDNN_CROSS_CORRELATION;
  description.set(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, static_cast<std::int64_t>(stride.size()));
  description.set(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_DATA_FLOAT);
  description.set(CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, 1, &mode);
  description.set(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, stride);
  description.set(CUDNN_ATTR_CONVOLUTION_DILATIONS, window_sizes(window.dilation, large.rank, 1));
  description.set(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, window_sizes(window.before, large.rank, 0));
  description.set(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, window_sizes(rim_behind(window, large, small), large.rank, 0));
  description.finish();

  const Names names = names_of(direction_of(problem.pass, transposed));
  Descriptor& operation = graph.add_operation(names.operation);
  operation.set(names.convolution, description);
  operation.set(names.alpha, 1.0F);
  operation.set(names.beta, 0.0F);
  graph.attach(names.large, result.large);
  graph.attach(names.weights, result.weights);
  graph.attach(names.small, result.small);
  graph.finish_operation();
  return result;
}

}  // namespace ddl::cuda
