#pragma once

#include "profiler/backends/cuda/graph.hpp"

namespace ddl::cuda {

/// The forward or the backward pass of a pooling over windows. For a maximum, forward writes the
/// winning positions as bytes, and backward reads them.
struct PoolGraph {
  Graph graph;
  Graph::Tensor large = 0, small = 0;  ///< input and output, or their gradients
  Graph::Tensor winners = 0;           ///< positions of the maxima; 0 for averages
};
/// Builds the graph of a pooling. `window`: the result of pool_window.
[[nodiscard]] PoolGraph pool_graph(const Problem& problem, const WindowGeometry& window, ImageLayout layout);

/// Whether all windows of a pooling have the same size. If a pooling has a given output size, this
/// size must divide the input size.
[[nodiscard]] bool has_window(const Problem& problem);
[[nodiscard]] WindowGeometry pool_window(const Problem& problem);

}  // namespace ddl::cuda
