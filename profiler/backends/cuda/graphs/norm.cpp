#include "profiler/backends/cuda/graphs/norm.hpp"

namespace ddl::cuda {

NormGraph norm_graph(const Problem& problem, ImageLayout layout) {
  const TensorShape& shape = problem.output;
  const bool batch = problem.operation->attribute_values().text("kind") == "batch";
  // A layer norm is described as a norm of images in which each position is a sample with channels only.
  constexpr auto innermost = ImageLayout::channels_last;
  const Extents data = batch ? image(shape, problem.samples, shape.sequence ? innermost : layout)
                             : dense({problem.samples * shape.positions(), shape.channels, 1, 1}, innermost);
  std::vector<std::int64_t> ones(data.sizes.size(), 1);
  std::vector<std::int64_t> each_channel = ones;
  each_channel[1] = shape.channels;
  std::vector<std::int64_t> each_group = batch ? each_channel : ones;
  if (!batch) each_group[0] = data.sizes[0];
  const Extents trained = dense(each_channel, innermost);
  const Extents groups = dense(each_group, innermost);

  // Shifts follow the scales in one buffer, so their alignment depends on the number of channels.
  const std::int64_t alignment = shape.channels % 4 == 0 ? 16 : 4;

  const cudnnBackendNormMode_t mode = batch ? CUDNN_BATCH_NORM : CUDNN_LAYER_NORM;
  const cudnnDataType_t type = data_type(problem.precision);
  NormGraph result;
  Graph& graph = result.graph;
  result.input = graph.add_tensor(data, type);
  result.scale = graph.add_tensor(trained, CUDNN_DATA_FLOAT);
  result.mean = graph.add_tensor(groups, CUDNN_DATA_FLOAT);
  result.inverse_deviation = graph.add_tensor(groups, CUDNN_DATA_FLOAT);
  if (problem.pass == Pass::forward) {
    result.shift = graph.add_tensor(trained, CUDNN_DATA_FLOAT, alignment);
    result.output = graph.add_tensor(data, type);
    const Graph::Tensor epsilon = graph.add_scalar(norm_epsilon, ones.size());
    Descriptor& norm = graph.add_operation(CUDNN_BACKEND_OPERATION_NORM_FORWARD_DESCRIPTOR);
    const cudnnBackendNormFwdPhase_t phase = CUDNN_NORM_FWD_TRAINING;
    norm.set(CUDNN_ATTR_OPERATION_NORM_FWD_MODE, CUDNN_TYPE_NORM_MODE, 1, &mode);
    norm.set(CUDNN_ATTR_OPERATION_NORM_FWD_PHASE, CUDNN_TYPE_NORM_FWD_PHASE, 1, &phase);
    graph.attach(CUDNN_ATTR_OPERATION_NORM_FWD_XDESC, result.input);
    graph.attach(CUDNN_ATTR_OPERATION_NORM_FWD_MEAN_DESC, result.mean);
    graph.attach(CUDNN_ATTR_OPERATION_NORM_FWD_INV_VARIANCE_DESC, result.inverse_deviation);
    graph.attach(CUDNN_ATTR_OPERATION_NORM_FWD_SCALE_DESC, result.scale);
    graph.attach(CUDNN_ATTR_OPERATION_NORM_FWD_BIAS_DESC, result.shift);
    graph.attach(CUDNN_ATTR_OPERATION_NORM_FWD_EPSILON_DESC, epsilon);
    graph.attach(CUDNN_ATTR_OPERATION_NORM_FWD_YDESC, result.output);
  } else {
    result.output_gradient = graph.add_tensor(data, type);
    result.input_gradient = graph.add_tensor(data, type);
    result.scale_gradient = graph.add_tensor(trained, CUDNN_DATA_FLOAT);
    result.shift_gradient = graph.add_tensor(trained, CUDNN_DATA_FLOAT, alignment);
    Descriptor& norm = graph.add_operation(CUDNN_BACKEND_OPERATION_NORM_BACKWARD_DESCRIPTOR);
    norm.set(CUDNN_ATTR_OPERATION_NORM_BWD_MODE, CUDNN_TYPE_NORM_MODE, 1, &mode);
    graph.attach(CUDNN_ATTR_OPERATION_NORM_BWD_XDESC, result.input);
    graph.attach(CUDNN_ATTR_OPERATION_NORM_BWD_MEAN_DESC, result.mean);
    graph.attach(CUDNN_ATTR_OPERATION_NORM_BWD_INV_VARIANCE_DESC, result.inverse_deviation);
    graph.attach(CUDNN_ATTR_OPERATION_NORM_BWD_DYDESC, result.output_gradient);
    graph.attach(CUDNN_ATTR_OPERATION_NORM_BWD_SCALE_DESC, result.scale);
    graph.attach(CUDNN_ATTR_OPERATION_NORM_BWD_DXDESC, result.input_gradient);
    graph.attach(CUDNN_ATTR_OPERATION_NORM_BWD_DSCALE_DESC, result.scale_gradient);
    graph.attach(CUDNN_ATTR_OPERATION_NORM_BWD_DBIAS_DESC, result.shift_gradient);
  }
  graph.finish_operation();
  return result;
}

}  // namespace ddl::cuda
