#pragma once

#include "model_zoo/network/model.hpp"

namespace ddl {

/// Work and depth of a graph of operations [BH18, section 2]. Work is the sum over all operations.
/// Depth is the longest chain of dependent steps.
struct WorkDepth {
  double work = 0;   ///< work W: FLOPs of all nodes
  double depth = 1;  ///< depth D: steps of the longest path, at least 1
  /// Returns W/D, the average number of FLOPs per step.
  [[nodiscard]] double parallelism() const { return work / depth; }
};

/// Returns work and depth of forward alone, over `samples` samples.
[[nodiscard]] WorkDepth forward_work_depth(const Model& model, double samples);
/// Returns work and depth of forward and backward, without the update and without gradients that are not needed
/// (`needs_input_gradient`).
[[nodiscard]] WorkDepth training_work_depth(const Model& model, double samples);

/// The two layers that determine the granularity of a graph, min W(node) / max C(edge).
struct GraphGrain {
  int smallest_node = -1;  ///< layer with the fewest forward FLOPs above zero; -1: no layer has FLOPs
  int largest_edge = -1;   ///< layer with the largest output that another layer reads; -1: no output is read
};
[[nodiscard]] GraphGrain graph_grain(const Model& model);

}  // namespace ddl
