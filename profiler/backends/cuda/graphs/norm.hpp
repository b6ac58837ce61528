#pragma once

#include "profiler/backends/cuda/graph.hpp"

namespace ddl::cuda {

/// The forward or the backward pass of a batch norm, or of a layer norm of rows of channels.
/// Backward computes the gradients of scale and shift together with the input's gradient.
struct NormGraph {
  Graph graph;
  Graph::Tensor input = 0, scale = 0, mean = 0, inverse_deviation = 0;
  Graph::Tensor shift = 0, output = 0;                                                            ///< tensors of forward
  Graph::Tensor output_gradient = 0, input_gradient = 0, scale_gradient = 0, shift_gradient = 0;  ///< tensors of backward
};
/// The number that a norm adds to the variance: the default of frameworks.
inline constexpr float norm_epsilon = 1e-5F;
[[nodiscard]] NormGraph norm_graph(const Problem& problem, ImageLayout layout);

}  // namespace ddl::cuda
