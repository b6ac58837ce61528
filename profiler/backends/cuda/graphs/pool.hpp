#pragma once

#include "profiler/backends/cuda/graph.hpp"

namespace ddl::cuda {

/// A pooling over windows in one direction. A maximum's winners are bytes that forward writes for backward.
struct PoolGraph {
  Graph graph;
  Graph::Tensor large = 0, small = 0;  ///< input and output, or their gradients
  Graph::Tensor winners = 0;           ///< 0 for averages
};
/// `window` as pool_window says.
[[nodiscard]] PoolGraph pool_graph(const Problem& problem, const WindowGeometry& window, CudaOptions::Layout layout);

/// Whether all windows are alike: one that pools to a given size has such where the sizes divide.
[[nodiscard]] bool has_window(const Problem& problem);
[[nodiscard]] WindowGeometry pool_window(const Problem& problem);

}  // namespace ddl::cuda
