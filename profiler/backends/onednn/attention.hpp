#pragma once

#include "profiler/backends/attention_shape.hpp"
#include "profiler/backends/onednn/kernels.hpp"

namespace ddl::onednn {

/// Computes the scores for the softmax: the products of a query with the keys from `first` to `end`, some of which may be
/// masked, times a factor.
void weigh_scores(const AttentionShape& shape, std::int64_t head, std::int64_t query, std::int64_t first, std::int64_t end,
                  float factor, float* scores);

/// Fused attention: scores stay in the caches, and backward recomputes them.
[[nodiscard]] std::unique_ptr<PreparedKernel> prepare_fused_attention(const Device& device, const Problem& problem);

}  // namespace ddl::onednn
