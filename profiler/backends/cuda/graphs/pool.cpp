#include "profiler/backends/cuda/graphs/pool.hpp"

namespace ddl::cuda {
namespace {

/// The library expects window sizes as fractions.
std::vector<cudnnFraction_t> fractions(const std::vector<std::int64_t>& sizes) {
  std::vector<cudnnFraction_t> result;
  for (const std::int64_t size : sizes) result.push_back({size, 1});
  return result;
}

}  // namespace

bool has_window(const Problem& problem) {
  if (!problem.operation->attribute_values().has("adaptive")) return true;
  const TensorShape& input = problem.inputs.front();
  for (std::size_t d = 0; d < static_cast<std::size_t>(input.rank); ++d) {
    if (input.extent[d] % problem.output.extent[d] != 0) return false;
  }
  return true;
}

WindowGeometry pool_window(const Problem& problem) {
  const TensorShape& input = problem.inputs.front();
  if (!problem.operation->attribute_values().has("adaptive"))
    return window_geometry(*problem.operation, input, problem.output);
  WindowGeometry window;
  for (std::size_t d = 0; d < static_cast<std::size_t>(input.rank); ++d) {
    window.kernel[d] = input.extent[d] / problem.output.extent[d];
    window.stride[d] = window.kernel[d];
  }
  return window;
}

PoolGraph pool_graph(const Problem& problem, const WindowGeometry& window, ImageLayout layout) {
  const TensorShape& input = problem.inputs.front();
  const AttributeValues attributes = problem.operation->attribute_values();
  const bool is_max = attributes.text("kind") == "max";
  const cudnnDataType_t type = data_type(problem.precision);
  PoolGraph result;
  Graph& graph = result.graph;
  const Extents small = image(problem.output, problem.samples, layout);
  result.large = graph.add_tensor(image(input, problem.samples, layout), type);
  result.small = graph.add_tensor(small, type);
  if (is_max) result.winners = graph.add_tensor(small, CUDNN_DATA_INT8);

  Descriptor& resampling = graph.add_part(CUDNN_BACKEND_RESAMPLE_DESCRIPTOR);
  // In frameworks, an average includes explicit padding by default, but not `same` padding.
  const cudnnResampleMode_t mode = is_max ? CUDNN_RESAMPLE_MAXPOOL
                                          : (attributes.text("padding") == "same" ? CUDNN_RESAMPLE_AVGPOOL_EXCLUDE_PADDING
                                                                                  : CUDNN_RESAMPLE_AVGPOOL_INCLUDE_PADDING);
  const cudnnPaddingMode_t padding = is_max ? CUDNN_NEG_INF_PAD : CUDNN_ZERO_PAD;
  const auto set_sizes = [&](cudnnBackendAttributeName_t name, const std::array<std::int64_t, 3>& sizes, std::int64_t rest) {
    const std::vector<cudnnFraction_t> values = fractions(window_sizes(sizes, input.rank, rest));
    resampling.set(name, CUDNN_TYPE_FRACTION, static_cast<std::int64_t>(values.size()), values.data());
  };
  resampling.set(CUDNN_ATTR_RESAMPLE_MODE, CUDNN_TYPE_RESAMPLE_MODE, 1, &mode);
  resampling.set(CUDNN_ATTR_RESAMPLE_COMP_TYPE, CUDNN_DATA_FLOAT);
  resampling.set(CUDNN_ATTR_RESAMPLE_PADDING_MODE, CUDNN_TYPE_PADDING_MODE, 1, &padding);
  resampling.set(CUDNN_ATTR_RESAMPLE_SPATIAL_DIMS,
                 static_cast<std::int64_t>(window_sizes(window.kernel, input.rank, 1).size()));
  set_sizes(CUDNN_ATTR_RESAMPLE_WINDOW_DIMS, window.kernel, 1);
  set_sizes(CUDNN_ATTR_RESAMPLE_STRIDES, window.stride, 1);
  set_sizes(CUDNN_ATTR_RESAMPLE_PRE_PADDINGS, window.before, 0);
  set_sizes(CUDNN_ATTR_RESAMPLE_POST_PADDINGS, rim_behind(window, input, problem.output), 0);
  resampling.finish();

  if (problem.pass == Pass::forward) {
    Descriptor& pool = graph.add_operation(CUDNN_BACKEND_OPERATION_RESAMPLE_FWD_DESCRIPTOR);
    graph.attach(CUDNN_ATTR_OPERATION_RESAMPLE_FWD_XDESC, result.large);
    graph.attach(CUDNN_ATTR_OPERATION_RESAMPLE_FWD_YDESC, result.small);
    if (is_max) graph.attach(CUDNN_ATTR_OPERATION_RESAMPLE_FWD_IDXDESC, result.winners);
    pool.set(CUDNN_ATTR_OPERATION_RESAMPLE_FWD_DESC, resampling);
  } else {
    Descriptor& pool = graph.add_operation(CUDNN_BACKEND_OPERATION_RESAMPLE_BWD_DESCRIPTOR);
    graph.attach(CUDNN_ATTR_OPERATION_RESAMPLE_BWD_DXDESC, result.large);
    graph.attach(CUDNN_ATTR_OPERATION_RESAMPLE_BWD_DYDESC, result.small);
    if (is_max) graph.attach(CUDNN_ATTR_OPERATION_RESAMPLE_BWD_IDXDESC, result.winners);
    pool.set(CUDNN_ATTR_OPERATION_RESAMPLE_BWD_DESC, resampling);
  }
  graph.finish_operation();
  return result;
}

}  // namespace ddl::cuda
