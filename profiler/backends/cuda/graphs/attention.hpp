#pragma once

#include "profiler/backends/cuda/graph.hpp"

namespace ddl::cuda {

/// Attention that never writes its scores: the graph of the forward pass, or of the backward pass. One tensor has the
/// queries, keys and values of each token; or one tensor has the queries, and another one has keys and values. Gradients are
/// packed in the same way. Query heads may share heads of keys and values.
struct AttentionGraph {
  Graph graph;
  Graph::Tensor queries = 0, keys = 0, values = 0, output = 0;
  Graph::Tensor statistics = 0;        ///< one fp32 number per query, to recompute scores in backward
  Graph::Tensor seed = 0, offset = 0;  ///< for dropout: 64-bit integers in device memory; 0 without dropout
  // Backward.
  Graph::Tensor output_gradient = 0, query_gradient = 0, key_gradient = 0, value_gradient = 0;
  Graph::Tensor sums = 0, accumulated = 0;  ///< scratch memory
};
/// Builds the graph of a fused attention. The precision must have 16 bits, because the library has
/// no engines for others. Windows and biases are not supported.
[[nodiscard]] AttentionGraph attention_graph(const Problem& problem);

}  // namespace ddl::cuda
