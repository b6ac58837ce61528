#include <cassert>
#include <optional>

#include "profiler/backends/cuda/attention_parts.hpp"
#include "profiler/backends/cuda/matrix_product.hpp"
#include "profiler/backends/cuda/status.hpp"

namespace ddl::cuda {
namespace {

/// Attention by matrix products, as in a framework without a fused kernel. Copies separate the
/// heads. The softmax scales, biases and masks the scores that it reads. Probabilities are kept for
/// backward. The query heads that share a key and value head form one matrix with consecutive rows.
class Products {
 public:
  Products(const Device& on, const Problem& problem)
      : device_(on),
        room_(on.between),
        s_(problem),
        precision_(problem.precision),
        forward_(problem.pass == Pass::forward),
        by_features_(on, product({.m = rows(), .n = s_.keys, .k = s_.size, .b_transposed = true}), precision_,
                     print_problem(problem) + " by features"),
        by_keys_(on, product({.m = rows(), .n = s_.size, .k = s_.keys}), precision_, print_problem(problem) + " by keys"),
        queries_(memory(query_items())),
        keys_(memory(key_items())),
        values_(memory(key_items())),
        result_(memory(query_items())),
        scores_(memory(score_items())) {
    if (!forward_) {
      by_rows_.emplace(on, product({.m = s_.keys, .n = s_.size, .k = rows(), .a_transposed = true}), precision_,
                       print_problem(problem) + " by rows");
      score_gradients_ = memory(score_items());
    }
    tensors_ = s_.inputs(false, precision_);
    probabilities_ = add(flat(TensorRole::kept, 0, score_items(), forward_, precision_));
    output_ = add(flat(forward_ ? TensorRole::output : TensorRole::output_gradient, 0, query_items(), forward_, precision_));
    input_gradients_ = tensors_.size();
    if (!forward_) {
      for (const KernelTensor& tensor : s_.inputs(true, precision_)) add(tensor);
    }
    if (s_.buckets > 0) {
      buckets_ = on_device(s_.buckets_of_pairs());
      if (forward_) biases_ = memory(s_.heads * s_.queries * s_.keys);
      // A table's gradient is summed up in fp32.
      table_ = add(forward_ ? flat(TensorRole::bias, 0, s_.buckets * s_.heads, false, precision_)
                            : flat(TensorRole::bias_gradient, 0, s_.buckets * s_.heads, true, Precision::fp32));
    }
    if (s_.dropout > 0) {
      mask_ = add(flat(TensorRole::kept, 1, score_items(), forward_, Precision::fp32));
      tensors_.back().bytes = true;
    }
  }

  [[nodiscard]] std::vector<KernelTensor> tensors() const { return tensors_; }
  [[nodiscard]] std::string name() const { return by_features_.name() + "+own:softmax"; }
  [[nodiscard]] std::size_t workspace() const {
    std::size_t bytes = by_features_.workspace() + by_keys_.workspace();
    if (by_rows_) bytes += by_rows_->workspace();
    for (const WorkspacePart* part : {&queries_, &keys_, &values_, &result_, &scores_, &score_gradients_, &biases_}) {
      bytes += part->bytes();
    }
    return bytes;
  }

  void run(std::span<void* const> at) {
    const std::size_t other = s_.crossed ? 1 : 0;
    started(device::split_heads(launch(), query_heads(), at[0], queries_.data()));
    started(device::split_heads(launch(), key_heads(0), at[other], keys_.data()));
    started(device::split_heads(launch(), key_heads(1), at[other], values_.data()));
    auto* const mask = mask_ ? static_cast<std::uint8_t*>(at[*mask_]) : nullptr;
    void* const table = table_ ? at[*table_] : nullptr;
    if (forward_) {
      run_forward(at[probabilities_], mask, table, at[output_]);
    } else {
      run_backward(at[probabilities_], mask, at[output_], at[input_gradients_], at[input_gradients_ + other],
                   static_cast<float*>(table));
    }
  }

 private:
  [[nodiscard]] Product product(Product shape) const {
    shape.count = s_.samples * s_.kv_heads;
    return shape;
  }
  std::size_t add(const KernelTensor& tensor) {
    tensors_.push_back(tensor);
    return tensors_.size() - 1;
  }
  [[nodiscard]] device::Launch launch() const { return device_.launch(precision_); }
  [[nodiscard]] WorkspacePart memory(std::int64_t items) { return room_.take(buffer_bytes(items, precision_, false)); }
  /// The number of rows in the matrix of the query heads that share a key and value head.
  [[nodiscard]] std::int64_t rows() const { return s_.heads / s_.kv_heads * s_.queries; }
  [[nodiscard]] std::int64_t query_items() const { return s_.samples * s_.queries * s_.width(); }
  [[nodiscard]] std::int64_t key_items() const { return s_.samples * s_.keys * s_.kv_width(); }
  [[nodiscard]] std::int64_t score_items() const { return s_.score_rows() * s_.keys; }
  [[nodiscard]] device::Heads query_heads() const { return {s_.samples, s_.queries, s_.heads, s_.size, s_.query_row(), 0}; }
  /// The position of the heads of the keys (`part` 0), or of the values (`part` 1), in their tensor. Values follow keys.
  [[nodiscard]] device::Heads key_heads(int part) const {
    return {s_.samples, s_.keys, s_.kv_heads, s_.size, s_.key_row(), s_.key_offset() + part * s_.kv_width()};
  }
  [[nodiscard]] device::Heads output_heads() const { return {s_.samples, s_.queries, s_.heads, s_.size, s_.width(), 0}; }
  /// Whether the softmax only needs a causal mask.
  [[nodiscard]] bool is_plain() const {
    return !s_.alibi && s_.window == 0 && s_.buckets == 0 && (!s_.causal || s_.keys >= s_.queries);
  }
  [[nodiscard]] device::Scores scores(bool causal) const { return {s_.score_rows(), s_.keys, s_.queries, causal, s_.scale}; }

  void run_forward(void* probabilities, std::uint8_t* mask, const void* table, void* output) {
    by_features_.run(device_, queries_.data(), keys_.data(), scores_.data());
    if (is_plain()) {
      started(device::softmax(launch(), scores(s_.causal), scores_.data(), probabilities));
    } else {
      device::ScoreRules rules;
      rules.rows = s_.score_rows();
      rules.length = s_.keys;
      rules.queries = s_.queries;
      rules.heads = s_.heads;
      rules.scale = s_.scale;
      rules.causal = s_.causal;
      rules.window = s_.window;
      rules.alibi = s_.alibi;
      if (table != nullptr) {
        started(device::look_up_biases(launch(), table, static_cast<const std::int32_t*>(buckets_.data()), biases_.data(),
                                       s_.heads, s_.queries * s_.keys));
      }
      started(device::ruled_softmax(launch(), rules, table != nullptr ? biases_.data() : nullptr, nullptr, scores_.data(),
                                    probabilities));
    }
    const void* dropped = probabilities;
    if (mask != nullptr) {
      started(device::dropout(launch(), probabilities, mask, scores_.data(), score_items(), s_.dropout, ++seed_));
      dropped = scores_.data();
    }
    by_keys_.run(device_, dropped, values_.data(), result_.data());
    started(device::join_heads(launch(), output_heads(), result_.data(), output));
  }

  void run_backward(const void* probabilities, const std::uint8_t* mask, const void* output_gradient, void* to_queries,
                    void* to_keys, float* to_table) {
    assert(by_rows_);  // only created for backward
    ProductRunner& by_rows = *by_rows_;
    started(device::split_heads(launch(), output_heads(), output_gradient, result_.data()));
    // Computes the gradient of the probabilities, dO·Vᵀ, and the gradient of the values, Pᵀ·dO,
    // which may reuse the memory of the values.
    by_features_.run(device_, result_.data(), values_.data(), scores_.data());
    const void* dropped = probabilities;
    if (mask != nullptr) {
      const auto keeps = s_.dropout < 1 ? static_cast<float>(1 / (1 - s_.dropout)) : 0.0F;
      started(device::mask(launch(), probabilities, mask, score_gradients_.data(), score_items(), keeps));
      started(device::mask(launch(), scores_.data(), mask, scores_.data(), score_items(), keeps));
      dropped = score_gradients_.data();
    }
    by_rows.run(device_, dropped, result_.data(), values_.data());
    started(device::join_heads(launch(), key_heads(1), values_.data(), to_keys));
    // Masked entries have a probability of zero, and therefore no gradient.
    started(device::softmax_backward(launch(), scores(is_plain() && s_.causal), probabilities, scores_.data(),
                                     score_gradients_.data()));
    if (to_table != nullptr) {
      const auto bytes = static_cast<std::size_t>(s_.buckets * s_.heads) * sizeof(float);
      check(cudaMemsetAsync(to_table, 0, bytes, device_.stream), "clearing a gradient");
      // The scale does not apply to the gradient of biases, because biases are added after it.
      started(device::table_gradient(launch(), score_gradients_.data(), static_cast<const std::int32_t*>(buckets_.data()),
                                     to_table, s_.samples, s_.heads, s_.queries * s_.keys, 1 / s_.scale));
    }
    by_keys_.run(device_, score_gradients_.data(), keys_.data(), result_.data());
    started(device::join_heads(launch(), query_heads(), result_.data(), to_queries));
    by_rows.run(device_, score_gradients_.data(), queries_.data(), keys_.data());
    started(device::join_heads(launch(), key_heads(0), keys_.data(), to_keys));
  }

  const Device& device_;
  WorkspaceParts room_;
  AttentionShape s_;
  Precision precision_;
  bool forward_;
  ProductRunner by_features_, by_keys_;
  std::optional<ProductRunner> by_rows_;
  WorkspacePart queries_, keys_, values_, result_;  ///< with separate heads; result: the output or its gradient
  WorkspacePart scores_, score_gradients_, biases_;
  DeviceMemory buckets_;
  std::vector<KernelTensor> tensors_;
  std::size_t probabilities_ = 0, output_ = 0, input_gradients_ = 0;
  std::optional<std::size_t> table_, mask_;
  std::uint64_t seed_ = 0;
};

}  // namespace

std::unique_ptr<PreparedKernel> prepare_attention_products(const Device& device, const Problem& problem) {
  const auto products = std::make_shared<Products>(device, problem);
  return make_kernel(
      products->name(), products->tensors(), [products](std::span<void* const> at) { products->run(at); },
      products->workspace());
}

}  // namespace ddl::cuda
