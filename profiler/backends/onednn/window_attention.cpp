#include <algorithm>
#include <cmath>
#include <utility>

#include "profiler/backends/attention_windows.hpp"
#include "profiler/backends/onednn/kernels.hpp"
#include "profiler/backends/onednn/matrix_product.hpp"
#include "profiler/backends/onednn/row_softmax.hpp"

namespace ddl::onednn {
namespace {

/// The mask that is added to the scores of the pairs of elements in a window. It hides pairs that were not neighbors before
/// the shift. Entries are ordered by window, then by pair. Empty without a shift.
std::vector<float> mask_of(const AttentionWindows& windows) {
  constexpr float hidden = -1e30F;
  std::vector<float> mask;
  for (std::int64_t w = 0; w < windows.count && windows.is_shifted; ++w) {
    const std::uint8_t* const edges = windows.edges.data() + w * windows.area;
    for (std::int64_t pair = 0; pair < windows.area * windows.area; ++pair) {
      mask.push_back(edges[pair / windows.area] == edges[pair % windows.area] ? 0.0F : hidden);
    }
  }
  return mask;
}

[[gnu::target_clones("avx512f", "avx2", "default")]] void weigh(float* scores, float scale, const float* biases,
                                                                const float* mask, std::int64_t pairs) {
#pragma omp simd
  for (std::int64_t i = 0; i < pairs; ++i) scores[i] = scores[i] * scale + biases[i];
  if (mask == nullptr) return;
#pragma omp simd
  for (std::int64_t i = 0; i < pairs; ++i) scores[i] += mask[i];
}

[[gnu::target_clones("avx512f", "avx2", "default")]] void add_to(const float* from, float* to, std::int64_t items) {
#pragma omp simd
  for (std::int64_t i = 0; i < items; ++i) to[i] += from[i];
}

// Unfused window attention, as in frameworks. The image is copied into windows. Scores are written, biased and masked, and
// the softmax reads and writes them. The matrices of a window and head have outermost channels, like the image.
class WindowAttentionKernel final : public PreparedKernel {
 public:
  WindowAttentionKernel(const Device& device, const Problem& problem)
      : device_(device),
        forward_(problem.pass == Pass::forward),
        samples_(problem.samples),
        heads_(problem.operation->attribute_values().integer("heads", 1)),
        size_(problem.output.channels / heads_),
        positions_(problem.output.positions()),
        windows_(problem),
        mask_(mask_of(windows_)),
        matrices_(samples_ * heads_ * windows_.count),
        items_(matrices_ * size_ * windows_.area),
        pairs_(windows_.area * windows_.area),
        by_features_(device, {matrices_, windows_.area, windows_.area, size_, true, false}),
        by_keys_(device, {matrices_, size_, windows_.area, windows_.area, false, true}),
        by_queries_(device, {matrices_, size_, windows_.area, windows_.area, false, false}),
        softmax_(device, matrices_ * windows_.area, windows_.area) {
    const std::int64_t table = windows_.relative * heads_;
    tensors_ = {{TensorRole::input, 0, 3 * items_, false},
                {TensorRole::kept, 0, matrices_ * pairs_, forward_},
                {forward_ ? TensorRole::output : TensorRole::output_gradient, 0, items_, forward_},
                {forward_ ? TensorRole::bias : TensorRole::bias_gradient, 0, table, !forward_}};
    if (!forward_) tensors_.push_back({TensorRole::input_gradient, 0, 3 * items_, true});
    scratch_ = 4 * items_ + (forward_ ? 1 : 2) * matrices_ * pairs_ + heads_ * pairs_;
    device_.workspace->reserve(static_cast<std::size_t>(scratch_) * sizeof(float));
  }

  std::span<const KernelTensor> tensors() const override { return tensors_; }
  std::string algorithm() const override { return "matmul+softmax+loop"; }
  Bytes workspace() const override { return Bytes(static_cast<double>(scratch_) * sizeof(float)); }

  void run(std::span<DeviceBuffer* const> buffers) override {
    auto* next = reinterpret_cast<float*>(device_.workspace->data());
    const auto take = [&next](std::int64_t items) { return std::exchange(next, next + items); };
    float* const queries = take(items_);
    float* const keys = take(items_);
    float* const values = take(items_);
    float* const result = take(items_);
    float* const scores = take(matrices_ * pairs_);
    float* const gradients = forward_ ? nullptr : take(matrices_ * pairs_);
    float* const biases = take(heads_ * pairs_);
    float* const probabilities = floats(buffers[1]);
    const std::int64_t channels = heads_ * size_;
    copy(floats(buffers[0]), 3 * channels, 0, queries, true);
    copy(floats(buffers[0]), 3 * channels, channels, keys, true);
    copy(floats(buffers[0]), 3 * channels, 2 * channels, values, true);
    const float scale = 1 / std::sqrt(static_cast<float>(size_));
    float* const table = floats(buffers[3]);
    if (forward_) {
      by_features_(queries, keys, scores);
      for (std::int64_t i = 0; i < heads_ * pairs_; ++i) {
        biases[i] = table[windows_.rows[static_cast<std::size_t>(i % pairs_)] * heads_ + i / pairs_];
      }
      for (std::int64_t i = 0; i < matrices_; ++i) {
        const float* mask = mask_.empty() ? nullptr : mask_.data() + i % windows_.count * pairs_;
        weigh(scores + i * pairs_, scale, biases + head(i) * pairs_, mask, pairs_);
      }
      softmax_.forward(scores, probabilities);
      by_keys_(values, probabilities, result);
      copy(floats(buffers[2]), channels, 0, result, false);
      return;
    }
    copy(floats(buffers[2]), channels, 0, result, true);
    float* const to_input = floats(buffers[4]);
    // Computes the gradient of the probabilities, dO·Vᵀ, and the gradient of the values, Pᵀ·dO,
    // which may reuse the memory of the values.
    by_features_(result, values, scores);
    by_queries_(result, probabilities, values);
    copy(to_input, 3 * channels, 2 * channels, values, false);
    softmax_.backward(probabilities, scores, gradients);
    // The table's gradient sums over samples and windows, and then over all pairs that use the same row of the table.
    std::fill_n(biases, heads_ * pairs_, 0.0F);
    for (std::int64_t i = 0; i < matrices_; ++i) add_to(gradients + i * pairs_, biases + head(i) * pairs_, pairs_);
    std::fill_n(table, windows_.relative * heads_, 0.0F);
    for (std::int64_t i = 0; i < heads_ * pairs_; ++i) {
      table[windows_.rows[static_cast<std::size_t>(i % pairs_)] * heads_ + i / pairs_] += biases[i];
    }
    for (std::int64_t i = 0; i < matrices_ * pairs_; ++i) gradients[i] *= scale;
    by_keys_(keys, gradients, result);
    copy(to_input, 3 * channels, 0, result, false);
    by_queries_(queries, gradients, result);
    copy(to_input, 3 * channels, channels, result, false);
  }

 private:
  [[nodiscard]] std::int64_t head(std::int64_t matrix) const { return matrix / windows_.count % heads_; }

  /// Copies between an image's channels from `first` on and the matrices of all samples, heads and windows.
  void copy(float* image, std::int64_t channels, std::int64_t first, float* matrices, bool into_windows) const {
    for (std::int64_t i = 0; i < matrices_; ++i) {
      const std::int32_t* const places = windows_.places.data() + i % windows_.count * windows_.area;
      const std::int64_t plane = i / windows_.count / heads_ * channels + first + head(i) * size_;
      for (std::int64_t channel = 0; channel < size_; ++channel) {
        float* const from = image + (plane + channel) * positions_;
        float* const to = matrices + (i * size_ + channel) * windows_.area;
        if (into_windows) {
          for (std::int64_t a = 0; a < windows_.area; ++a) to[a] = from[places[a]];
        } else {
          for (std::int64_t a = 0; a < windows_.area; ++a) from[places[a]] = to[a];
        }
      }
    }
  }

  Device device_;
  bool forward_;
  std::int64_t samples_, heads_, size_, positions_;
  AttentionWindows windows_;
  std::vector<float> mask_;
  std::int64_t matrices_, items_, pairs_;
  MatrixProduct by_features_;  ///< Aᵀ·B of two [channels, area] matrices: a score for each pair
  MatrixProduct by_keys_;      ///< [channels, area] times the transposed scores: sums over keys
  MatrixProduct by_queries_;   ///< [channels, area] times the scores: sums over queries
  RowSoftmax softmax_;
  std::int64_t scratch_ = 0;
  std::vector<KernelTensor> tensors_{};
};

std::string refusal_of_windows(const Problem& problem) {
  std::string why = only_fp32(problem);
  return why.empty() ? windows_refusal(problem) : why;
}

std::unique_ptr<PreparedKernel> prepare_window_attention(const Device& device, const Problem& problem) {
  // This pass is empty, because backward-data also computes the gradient of the table of biases,
  // from the gradients of the scores.
  if (problem.pass == Pass::backward_weight) return empty_kernel();
  return std::make_unique<WindowAttentionKernel>(device, problem);
}

}  // namespace

const Kind window_attention{"window_attention", refusal_of_windows, prepare_window_attention};

}  // namespace ddl::onednn
