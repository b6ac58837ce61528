#pragma once

#include "profiler/backends/cuda/graph.hpp"

namespace ddl::cuda {

/// Attention that never writes its scores, in one direction. For each token, one tensor packs queries, keys and values, or
/// one tensor has the queries and another packs keys and values. Gradients are packed in the same way. Query heads may share
/// heads of keys and values.
struct AttentionGraph {
  Graph graph;
  Graph::Tensor queries = 0, keys = 0, values = 0, output = 0;
  Graph::Tensor statistics = 0;        ///< fp32, one per query: backward recomputes the scores from it
  Graph::Tensor seed = 0, offset = 0;  ///< for dropout: 64-bit integers in device memory; 0 without dropout
  // Backward.
  Graph::Tensor output_gradient = 0, query_gradient = 0, key_gradient = 0, value_gradient = 0;
  Graph::Tensor sums = 0, accumulated = 0;  ///< scratch
};
/// Only for 16-bit precisions, because the library has no engines for others. Windows and biases are not supported.
[[nodiscard]] AttentionGraph attention_graph(const Problem& problem);

}  // namespace ddl::cuda
