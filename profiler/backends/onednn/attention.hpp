#pragma once

#include "profiler/backends/attention_shape.hpp"
#include "profiler/backends/onednn/kernels.hpp"

namespace ddl::onednn {

/// Computes the scores of one query for the softmax: the products with the keys from `first` to
/// `end`, times a factor. Some scores may be masked.
void weigh_scores(const AttentionShape& shape, std::int64_t head, std::int64_t query, std::int64_t first, std::int64_t end,
                  float factor, float* scores);

/// Prepares a fused attention: scores stay in the caches, and backward recomputes them.
[[nodiscard]] std::unique_ptr<PreparedKernel> prepare_fused_attention(const Device& device, const Problem& problem);

}  // namespace ddl::onednn
