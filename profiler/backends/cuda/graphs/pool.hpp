#pragma once

#include "profiler/backends/cuda/graph.hpp"

namespace ddl::cuda {

/// A pooling over windows in one direction. For a maximum, the winning positions are bytes that forward writes for backward.
struct PoolGraph {
  Graph graph;
  Graph::Tensor large = 0, small = 0;  ///< input and output, or their gradients
  Graph::Tensor winners = 0;           ///< 0 for averages
};
/// `window` as returned by pool_window.
[[nodiscard]] PoolGraph pool_graph(const Problem& problem, const WindowGeometry& window, ImageLayout layout);

/// Whether all windows are equal. Pooling to a given size has equal windows if the output size divides the input size.
[[nodiscard]] bool has_window(const Problem& problem);
[[nodiscard]] WindowGeometry pool_window(const Problem& problem);

}  // namespace ddl::cuda
