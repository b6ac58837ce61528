#pragma once

#include "profiler/backends/cuda/graph.hpp"

namespace ddl::cuda {

/// The convolution that one pass of a problem runs: from the large side to the small side, or one
/// of the two gradients. The large side is the input, or the output of a transposed convolution.
struct ConvolutionGraph {
  Graph graph;
  Graph::Tensor large = 0, weights = 0, small = 0;
  bool transposed = false;
  WindowGeometry window;
};
[[nodiscard]] ConvolutionGraph convolution_graph(const Problem& problem, ImageLayout layout);

}  // namespace ddl::cuda
