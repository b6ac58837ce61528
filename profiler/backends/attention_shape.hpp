#pragma once

#include <cstdint>
#include <vector>

#include "profiler/backends/kernel_backend.hpp"

namespace ddl {

/// The parameters of an attention problem. Queries, keys and values are next to each other in one tensor, or queries are in
/// one tensor, and keys and values in another. Query heads that share a key and value head are adjacent.
struct AttentionShape {
  explicit AttentionShape(const Problem& problem);

  std::int64_t samples = 1, queries = 1, keys = 1, heads = 1, kv_heads = 1, size = 1;
  bool crossed = false;  ///< whether keys and values come from another tensor
  bool causal = false, fused = false, alibi = false;
  std::int64_t window = 0, buckets = 0;
  double dropout = 0;
  float scale = 1;  ///< factor of the scores

  [[nodiscard]] std::int64_t width() const { return heads * size; }
  [[nodiscard]] std::int64_t kv_width() const { return kv_heads * size; }
  /// query_row() and key_row(): the channels per token of the tensor with the queries, and of the tensor with the keys and
  /// values. If one tensor has all three, the keys begin at channel key_offset(), after the queries.
  [[nodiscard]] std::int64_t query_row() const { return crossed ? width() : width() + 2 * kv_width(); }
  [[nodiscard]] std::int64_t key_row() const { return crossed ? 2 * kv_width() : query_row(); }
  [[nodiscard]] std::int64_t key_offset() const { return crossed ? 0 : width(); }
  [[nodiscard]] std::int64_t score_rows() const { return samples * heads * queries; }
  /// The number of query heads that share a key and value head.
  [[nodiscard]] std::int64_t sharing() const { return heads / kv_heads; }
  /// The range of keys that a query attends to: from first_key() to before end_key().
  [[nodiscard]] std::int64_t first_key(std::int64_t query) const {
    return window > 0 && query >= window ? query - window + 1 : 0;
  }
  [[nodiscard]] std::int64_t end_key(std::int64_t query) const { return causal ? query + 1 : keys; }
  /// The ALiBi slope of a head: scores are reduced by the slope times the distance of query and key. Zero without ALiBi.
  [[nodiscard]] float slope(std::int64_t head) const;
  /// Returns, for each pair of a query and a key, the index of the pair's bias in the head's table of biases.
  [[nodiscard]] std::vector<std::int32_t> buckets_of_pairs() const;
  /// The input tensors of a kernel, or their gradients if `gradients` is set.
  [[nodiscard]] std::vector<KernelTensor> inputs(bool gradients, Precision precision) const;
};

}  // namespace ddl
