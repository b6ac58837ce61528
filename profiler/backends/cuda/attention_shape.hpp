#pragma once

#include <vector>

#include "profiler/backends/cuda/kernels.hpp"

namespace ddl::cuda {

/// What an attention is, from its problem. Reads queries, keys and values side by side in one tensor, or queries in one and
/// keys and values in another. Query heads that share a key and value head lie one behind the other.
struct AttentionShape {
  explicit AttentionShape(const Problem& problem);

  std::int64_t samples = 1, queries = 1, keys = 1, heads = 1, kv_heads = 1, size = 1;
  bool crossed = false;  ///< keys and values are of another tensor
  bool causal = false, fused = false, alibi = false;
  std::int64_t window = 0, buckets = 0;
  double dropout = 0;
  float scale = 1;  ///< of the scores

  [[nodiscard]] std::int64_t width() const { return heads * size; }
  [[nodiscard]] std::int64_t kv_width() const { return kv_heads * size; }
  /// Channels of the tensor that queries are in, and of that of the keys and values, which come behind them where it is the
  /// same.
  [[nodiscard]] std::int64_t query_row() const { return crossed ? width() : width() + 2 * kv_width(); }
  [[nodiscard]] std::int64_t key_row() const { return crossed ? 2 * kv_width() : query_row(); }
  [[nodiscard]] std::int64_t key_offset() const { return crossed ? 0 : width(); }
  [[nodiscard]] std::int64_t score_rows() const { return samples * heads * queries; }
  /// The inputs or their gradients.
  [[nodiscard]] std::vector<KernelTensor> inputs(bool gradients, Precision precision) const;
  /// Of each query and key, which number of its head's table is added to their score.
  [[nodiscard]] std::vector<std::int32_t> bucket_of_pairs() const;
};

/// By products of matrices and passes of our own over the scores.
[[nodiscard]] std::unique_ptr<PreparedKernel> prepare_attention_products(const Device& device, const Problem& problem);

/// Numbers in the device's memory.
[[nodiscard]] DeviceMemory on_device(const std::vector<std::int32_t>& numbers);

}  // namespace ddl::cuda
