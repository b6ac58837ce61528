#include <algorithm>
#include <map>
#include <memory>

#include <oneapi/dnnl/dnnl.h>

#include "core/error.hpp"
#include "profiler/backends/onednn/attention.hpp"
#include "profiler/backends/onednn/row_softmax.hpp"

namespace ddl::onednn {
namespace {

/// Computes C = factor·A·B, or adds factor·A·B to C, for matrices with row strides.
struct Matrix {
  float* data;
  std::int64_t row;
  bool transposed = false;
};
void multiply_matrices(std::int64_t m, std::int64_t n, std::int64_t k, float factor, const Matrix& a, const Matrix& b,
                       const Matrix& c, bool adds) {
  const dnnl_status_t status = dnnl_sgemm(a.transposed ? 'T' : 'N', b.transposed ? 'T' : 'N', m, n, k, factor, a.data, a.row,
                                          b.data, b.row, adds ? 1.0F : 0.0F, c.data, c.row);
  if (status != dnnl_success) throw Error("oneDNN: a matrix product failed");
}

/// The number of queries of a head that are processed at once. With 4,096 keys, their scores take a
/// megabyte, which fits into second-level caches.
constexpr std::int64_t block = 64;

// Fused attention. The kernel processes blocks of a head's queries with all keys. Kernels for smaller memories also divide
// the keys, and carry partial sums from part to part [Dao22]; this kernel does not. Heads are read and written in place.
class FusedAttentionKernel final : public PreparedKernel {
 public:
  FusedAttentionKernel(const Device& device, const Problem& problem)
      : device_(device), s_(problem), forward_(problem.pass == Pass::forward), tensors_(s_.inputs(false, Precision::fp32)) {
    tensors_.push_back(
        {forward_ ? TensorRole::output : TensorRole::output_gradient, 0, s_.samples * s_.queries * s_.width(), forward_});
    if (!forward_) {
      for (const KernelTensor& tensor : s_.inputs(true, Precision::fp32)) tensors_.push_back(tensor);
    }
    each_block([&](const Block& one) {
      auto& softmax = softmax_[{one.queries, one.keys}];
      if (!softmax) softmax = std::make_unique<RowSoftmax>(device, one.queries, one.keys);
    });
    scratch_ = (forward_ ? 1 : 2) * std::min(block, s_.queries) * s_.keys;
    device_.workspace->reserve(static_cast<std::size_t>(scratch_) * sizeof(float));
  }

  std::span<const KernelTensor> tensors() const override { return tensors_; }
  std::string algorithm() const override { return "sgemm+softmax+loop"; }
  Bytes workspace() const override { return Bytes(static_cast<double>(scratch_) * sizeof(float)); }

  void run(std::span<DeviceBuffer* const> buffers) override {
    const std::size_t inputs = s_.crossed ? 2 : 1;
    float* const queries = floats(buffers[0]);
    float* const keys = floats(buffers[inputs - 1]) + s_.key_offset();
    float* const output = floats(buffers[inputs]);
    float* const to_queries = forward_ ? nullptr : floats(buffers[inputs + 1]);
    float* const to_keys = forward_ ? nullptr : floats(buffers[2 * inputs]) + s_.key_offset();
    // The gradients of keys are accumulated, because several blocks use the same keys.
    if (!forward_) std::fill_n(floats(buffers[2 * inputs]), s_.samples * s_.keys * s_.key_row(), 0.0F);
    for (std::int64_t sample = 0; sample < s_.samples; ++sample) {
      for (std::int64_t head = 0; head < s_.heads; ++head) {
        const std::int64_t query_at = sample * s_.queries * s_.query_row() + head * s_.size;
        const std::int64_t key_at = sample * s_.keys * s_.key_row() + head / s_.sharing() * s_.size;
        const std::int64_t output_at = sample * s_.queries * s_.width() + head * s_.size;
        each_block([&](const Block& one) {
          const std::int64_t from = query_at + one.first_query * s_.query_row();
          const std::int64_t to = key_at + one.first_key * s_.key_row();
          const Matrix q{queries + from, s_.query_row()};
          const Matrix k{keys + to, s_.key_row()};
          const Matrix v{keys + to + s_.kv_width(), s_.key_row()};
          const Matrix o{output + output_at + one.first_query * s_.width(), s_.width()};
          float* const scores = scores_of(one, head, q, k);
          if (forward_) {
            multiply_matrices(one.queries, s_.size, one.keys, 1, {scores, one.keys}, v, o, false);
            return;
          }
          float* const gradients = scores + one.queries * one.keys;
          const Matrix dq{to_queries + from, s_.query_row()};
          const Matrix dk{to_keys + to, s_.key_row()};
          const Matrix dv{to_keys + to + s_.kv_width(), s_.key_row()};
          multiply_matrices(one.keys, s_.size, one.queries, 1, {scores, one.keys, true}, o, dv, true);
          multiply_matrices(one.queries, one.keys, s_.size, 1, o, {v.data, v.row, true}, {gradients, one.keys}, false);
          softmax_.at({one.queries, one.keys})->backward(scores, gradients, gradients);
          multiply_matrices(one.queries, s_.size, one.keys, s_.scale, {gradients, one.keys}, k, dq, false);
          multiply_matrices(one.keys, s_.size, one.queries, s_.scale, {gradients, one.keys, true}, q, dk, true);
        });
      }
    }
  }

 private:
  struct Block {
    std::int64_t first_query, queries, first_key, keys;
  };
  template <class Visit>
  void each_block(const Visit& visit) const {
    for (std::int64_t first = 0; first < s_.queries; first += block) {
      const std::int64_t end = std::min(s_.queries, first + block);
      const std::int64_t first_key = s_.first_key(first);
      visit({first, end - first, first_key, std::min(s_.keys, s_.end_key(end - 1)) - first_key});
    }
  }

  /// The softmax of a block's scores.
  float* scores_of(const Block& one, std::int64_t head, const Matrix& q, const Matrix& k) const {
    auto* const scores = reinterpret_cast<float*>(device_.workspace->data());
    multiply_matrices(one.queries, one.keys, s_.size, 1, q, {k.data, k.row, true}, {scores, one.keys}, false);
    for (std::int64_t i = 0; i < one.queries; ++i) {
      weigh_scores(s_, head, one.first_query + i, one.first_key, one.first_key + one.keys, s_.scale, scores + i * one.keys);
    }
    softmax_.at({one.queries, one.keys})->forward(scores, scores);
    return scores;
  }

  Device device_;
  AttentionShape s_;
  bool forward_;
  std::vector<KernelTensor> tensors_;
  std::map<std::pair<std::int64_t, std::int64_t>, std::unique_ptr<RowSoftmax>> softmax_{};
  std::int64_t scratch_ = 0;
};

}  // namespace

std::unique_ptr<PreparedKernel> prepare_fused_attention(const Device& device, const Problem& problem) {
  return std::make_unique<FusedAttentionKernel>(device, problem);
}

}  // namespace ddl::onednn
