#pragma once

#include "model_zoo/network/model.hpp"

namespace ddl {

/// Work and depth of a graph of operations [BH18, section 2]: all there is to do, and the longest chain of it.
struct WorkDepth {
  double work = 0;   ///< W: FLOPs of all nodes
  double depth = 1;  ///< D: steps of the longest path, at least 1
  /// W/D: FLOPs that a step has on average.
  [[nodiscard]] double parallelism() const { return work / depth; }
};

/// Forward alone, over `samples` samples.
[[nodiscard]] WorkDepth forward_work_depth(const Model& model, double samples);
/// Forward and backward. The update is left out, and so are the gradients that nobody reads (`needs_input_gradient`).
[[nodiscard]] WorkDepth training_work_depth(const Model& model, double samples);

/// What the granularity of a graph is made of: min W(node) / max C(edge).
struct GraphGrain {
  int smallest_node = -1;  ///< layer with the fewest FLOPs forward of those that have any; -1: none has
  int largest_edge = -1;   ///< layer whose output is the largest tensor that another layer reads; -1: none is read
};
[[nodiscard]] GraphGrain graph_grain(const Model& model);

}  // namespace ddl
