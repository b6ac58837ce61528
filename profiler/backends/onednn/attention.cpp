#include "profiler/backends/onednn/attention.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <random>
#include <utility>

#include "profiler/backends/onednn/matrix_product.hpp"
#include "profiler/backends/onednn/row_softmax.hpp"

namespace ddl::onednn {

using dnnl::memory;

void weigh_scores(const AttentionShape& shape, std::int64_t head, std::int64_t query, std::int64_t first, std::int64_t end,
                  float factor, float* scores) {
  constexpr float hidden = -1e30F;
  const std::int64_t from = std::max(first, shape.first_key(query));
  const std::int64_t to = std::max(from, std::min(end, shape.end_key(query)));
  std::fill(scores, scores + (from - first), hidden);
  const float slope = shape.slope(head);
  if (slope == 0) {
    for (std::int64_t i = from - first; i < to - first; ++i) scores[i] *= factor;
  } else {
    for (std::int64_t key = from; key < to; ++key) {
      scores[key - first] = scores[key - first] * factor - slope * static_cast<float>(std::abs(query - key));
    }
  }
  std::fill(scores + (to - first), scores + (end - first), hidden);
}

namespace {

std::string refusal_attention(const Problem& problem) { return only_fp32(problem); }

/// Copies some channels of [samples, tokens, width] to [samples, heads, tokens, size], or back.
class Heads {
 public:
  Heads(const Device& device, std::int64_t samples, std::int64_t tokens, std::int64_t heads, std::int64_t size,
        std::int64_t width)
      : device_(device) {
    const memory::dims dims{samples, heads, tokens, size};
    together_ = memory({dims, memory::data_type::f32, memory::dims{tokens * width, size, width, 1}}, device.engine, nullptr);
    apart_ = memory(dense(dims, memory::data_type::f32), device.engine, nullptr);
    split_ = dnnl::reorder(together_, apart_);
    join_ = dnnl::reorder(apart_, together_);
  }
  void split(float* together, float* apart) { run(split_, together, apart, true); }
  void join(float* apart, float* together) { run(join_, together, apart, false); }

 private:
  void run(dnnl::reorder& reorder, float* together, float* apart, bool splits) {
    together_.set_data_handle(together);
    apart_.set_data_handle(apart);
    reorder.execute(device_.stream, splits ? together_ : apart_, splits ? apart_ : together_);
  }

  Device device_;
  memory together_, apart_;
  dnnl::reorder split_, join_;
};

// Attention as in a framework without a fused kernel. Copies separate the heads, and the scores are
// written. A separate pass scales and masks the scores, and the softmax reads and writes them. The
// query heads that share a key and value head form one matrix with consecutive rows.
class AttentionKernel final : public PreparedKernel {
 public:
  AttentionKernel(const Device& device, const Problem& problem)
      : device_(device),
        s_(problem),
        forward_(problem.pass == Pass::forward),
        rows_(s_.sharing() * s_.queries),
        query_heads_(device, s_.samples, s_.queries, s_.heads, s_.size, s_.query_row()),
        key_heads_(device, s_.samples, s_.keys, s_.kv_heads, s_.size, s_.key_row()),
        output_heads_(device, s_.samples, s_.queries, s_.heads, s_.size, s_.width()),
        by_features_(device, {s_.samples * s_.kv_heads, rows_, s_.keys, s_.size, false, true}),
        by_keys_(device, {s_.samples * s_.kv_heads, rows_, s_.size, s_.keys, false, false}),
        by_rows_(device, {s_.samples * s_.kv_heads, s_.keys, s_.size, rows_, true, false}),
        softmax_(device, s_.samples * s_.heads * s_.queries, s_.keys),
        query_items_(s_.samples * s_.queries * s_.width()),
        key_items_(s_.samples * s_.keys * s_.kv_width()),
        score_items_(s_.samples * s_.heads * s_.queries * s_.keys),
        bias_items_(s_.buckets > 0 ? s_.heads * s_.queries * s_.keys : 0) {
    tensors_ = s_.inputs(false, Precision::fp32);
    tensors_.push_back({TensorRole::kept, 0, score_items_, forward_});
    tensors_.push_back({forward_ ? TensorRole::output : TensorRole::output_gradient, 0, query_items_, forward_});
    if (!forward_) {
      for (const KernelTensor& tensor : s_.inputs(true, Precision::fp32)) tensors_.push_back(tensor);
    }
    if (s_.buckets > 0) {
      buckets_ = s_.buckets_of_pairs();
      tensors_.push_back({forward_ ? TensorRole::bias : TensorRole::bias_gradient, 0, s_.buckets * s_.heads, !forward_});
    }
    if (s_.dropout > 0) tensors_.push_back({TensorRole::kept, 1, score_items_, forward_});
    scratch_ = 2 * query_items_ + 2 * key_items_ + (forward_ ? 1 : 2) * score_items_ + bias_items_;
    device_.workspace->reserve(static_cast<std::size_t>(scratch_) * sizeof(float));
  }

  std::span<const KernelTensor> tensors() const override { return tensors_; }
  std::string algorithm() const override { return "matmul+softmax+loop"; }
  Bytes workspace() const override { return Bytes(static_cast<double>(scratch_) * sizeof(float)); }

  void run(std::span<DeviceBuffer* const> buffers) override {
    const auto at = [&](TensorRole role, int index) -> float* {
      for (std::size_t i = 0; i < tensors_.size(); ++i) {
        if (tensors_[i].role == role && tensors_[i].index == index) return floats(buffers[i]);
      }
      return nullptr;
    };
    auto* next = reinterpret_cast<float*>(device_.workspace->data());
    const auto take = [&next](std::int64_t items) { return std::exchange(next, next + items); };
    Parts parts{take(query_items_), take(query_items_), take(key_items_),
                take(key_items_),   take(score_items_), forward_ ? nullptr : take(score_items_),
                take(bias_items_)};
    const int other = s_.crossed ? 1 : 0;
    float* const keys = at(TensorRole::input, other) + s_.key_offset();
    query_heads_.split(at(TensorRole::input, 0), parts.queries);
    key_heads_.split(keys, parts.keys);
    key_heads_.split(keys + s_.kv_width(), parts.values);
    float* const probabilities = at(TensorRole::kept, 0);
    float* const mask = at(TensorRole::kept, 1);
    if (forward_) {
      run_forward(parts, probabilities, mask, at(TensorRole::bias, 0), at(TensorRole::output, 0));
    } else {
      run_backward(parts, probabilities, mask, at(TensorRole::output_gradient, 0), at(TensorRole::input_gradient, 0),
                   at(TensorRole::input_gradient, other) + s_.key_offset(), at(TensorRole::bias_gradient, 0));
    }
  }

 private:
  struct Parts {
    float *queries, *output, *keys, *values;  ///< with separate heads; `output` may be its gradient
    float *scores, *score_gradients, *biases;
  };

  void run_forward(const Parts& parts, float* probabilities, float* mask, const float* table, float* output) {
    by_features_(parts.queries, parts.keys, parts.scores);
    // All samples have the same biases.
    const std::int64_t pairs = s_.queries * s_.keys;
    for (std::int64_t i = 0; i < bias_items_; ++i) {
      parts.biases[i] = table[buckets_[static_cast<std::size_t>(i % pairs)] * s_.heads + i / pairs];
    }
    for (std::int64_t row = 0; row < s_.samples * s_.heads * s_.queries; ++row) {
      float* score = parts.scores + row * s_.keys;
      weigh_scores(s_, row / s_.queries % s_.heads, row % s_.queries, 0, s_.keys, s_.scale, score);
      if (bias_items_ == 0) continue;
      const float* bias = parts.biases + row * s_.keys % bias_items_;
      for (std::int64_t i = 0; i < s_.keys; ++i) score[i] += bias[i];
    }
    softmax_.forward(parts.scores, probabilities);
    const float* dropped = probabilities;
    if (mask != nullptr) {
      const auto keep = s_.dropout < 1 ? static_cast<float>(1 / (1 - s_.dropout)) : 0.0F;
      const auto threshold = static_cast<std::uint32_t>(std::min(s_.dropout * 4294967296.0, 4294967295.0));
      for (std::int64_t i = 0; i < score_items_; ++i) mask[i] = random_() >= threshold ? keep : 0.0F;
      for (std::int64_t i = 0; i < score_items_; ++i) parts.scores[i] = probabilities[i] * mask[i];
      dropped = parts.scores;
    }
    by_keys_(dropped, parts.values, parts.output);
    output_heads_.join(parts.output, output);
  }

  void run_backward(const Parts& parts, float* probabilities, const float* mask, float* output_gradient, float* to_queries,
                    float* to_keys, float* to_table) {
    output_heads_.split(output_gradient, parts.output);
    // Computes the gradient of the probabilities, dO·Vᵀ, and the gradient of the values, Pᵀ·dO,
    // which may reuse the memory of the values.
    by_features_(parts.output, parts.values, parts.scores);
    const float* dropped = probabilities;
    if (mask != nullptr) {
      for (std::int64_t i = 0; i < score_items_; ++i) parts.score_gradients[i] = probabilities[i] * mask[i];
      for (std::int64_t i = 0; i < score_items_; ++i) parts.scores[i] *= mask[i];
      dropped = parts.score_gradients;
    }
    by_rows_(dropped, parts.output, parts.values);
    key_heads_.join(parts.values, to_keys + s_.kv_width());
    softmax_.backward(probabilities, parts.scores, parts.score_gradients);
    if (to_table != nullptr) add_to_table(parts, to_table);
    for (std::int64_t i = 0; i < score_items_; ++i) parts.score_gradients[i] *= s_.scale;
    by_keys_(parts.score_gradients, parts.keys, parts.output);
    query_heads_.join(parts.output, to_queries);
    by_rows_(parts.score_gradients, parts.queries, parts.keys);
    key_heads_.join(parts.keys, to_keys);
  }

  /// Adds up the gradients of the scores: first over the samples, then over the pairs of each bucket.
  void add_to_table(const Parts& parts, float* table) {
    std::copy_n(parts.score_gradients, bias_items_, parts.biases);
    for (std::int64_t sample = 1; sample < s_.samples; ++sample) {
      const float* from = parts.score_gradients + sample * bias_items_;
      for (std::int64_t i = 0; i < bias_items_; ++i) parts.biases[i] += from[i];
    }
    std::fill_n(table, s_.buckets * s_.heads, 0.0F);
    const std::int64_t pairs = s_.queries * s_.keys;
    for (std::int64_t i = 0; i < bias_items_; ++i) {
      table[buckets_[static_cast<std::size_t>(i % pairs)] * s_.heads + i / pairs] += parts.biases[i];
    }
  }

  Device device_;
  AttentionShape s_;
  bool forward_;
  std::int64_t rows_;  ///< rows in the matrix of the query heads that share a key and value head
  Heads query_heads_, key_heads_, output_heads_;
  MatrixProduct by_features_, by_keys_, by_rows_;
  RowSoftmax softmax_;
  std::int64_t query_items_, key_items_, score_items_, bias_items_;
  std::int64_t scratch_ = 0;
  std::vector<std::int32_t> buckets_{};
  std::vector<KernelTensor> tensors_{};
  std::mt19937 random_{};
};

std::unique_ptr<PreparedKernel> prepare_attention(const Device& device, const Problem& problem) {
  // This pass is empty, because backward-data also computes the gradient of trained biases, from
  // the gradients of the scores.
  if (problem.pass == Pass::backward_weight) return empty_kernel();
  // PyTorch's fused kernel for CPUs does not support dropout, and its scaled_dot_product_attention then runs unfused
  // operators (aten/src/ATen/native/transformers/sdp_utils_cpp.cpp, use_flash_attention_cpp).
  const AttentionShape shape(problem);
  if (shape.fused && shape.dropout == 0) return prepare_fused_attention(device, problem);
  return std::make_unique<AttentionKernel>(device, problem);
}

}  // namespace

const Kind attention{"attention", refusal_attention, prepare_attention};

}  // namespace ddl::onednn
