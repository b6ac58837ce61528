#pragma once

#include <optional>

#include "profiler/backends/cuda/graph.hpp"

namespace ddl::cuda {

/// A function of one item in one direction.
struct ActivationGraph {
  Graph graph;
  Graph::Tensor input = 0;
  Graph::Tensor output = 0;                               ///< forward
  Graph::Tensor output_gradient = 0, input_gradient = 0;  ///< backward
};
/// Nothing for functions that the library does not have.
[[nodiscard]] std::optional<ActivationGraph> activation_graph(const Problem& problem);

}  // namespace ddl::cuda
