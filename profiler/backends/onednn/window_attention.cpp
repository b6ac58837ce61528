#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "profiler/backends/onednn/kernels.hpp"
#include "profiler/backends/onednn/matrix_product.hpp"
#include "profiler/backends/onednn/row_softmax.hpp"

namespace ddl::onednn {
namespace {

using Point = std::array<std::int64_t, 3>;

/// An image cut into windows, which may be shifted: where each item of a window lies, which number of the table a pair of
/// them reads, and what a pair adds to its score where the window holds what was not side by side.
struct Windows {
  explicit Windows(const Problem& problem) {
    const AttributeValues attributes = problem.operation->attribute_values();
    const TensorShape& shape = problem.output;
    const auto rank = static_cast<std::size_t>(shape.rank);
    const Point size = attributes.sizes("window", 1);
    Point window{1, 1, 1}, shift{0, 0, 0}, grid{1, 1, 1};
    for (std::size_t d = 0; d < rank; ++d) {
      window[d] = size[d];
      grid[d] = shape.extent[d] / size[d];
      // A dimension that the window covers is not shifted.
      shift[d] = grid[d] > 1 ? attributes.integer("shift", 0) % shape.extent[d] : 0;
    }
    area = window[0] * window[1] * window[2];
    count = grid[0] * grid[1] * grid[2];
    const auto point = [](std::int64_t place, const Point& extents) {
      return Point{place / (extents[1] * extents[2]), place / extents[2] % extents[1], place % extents[2]};
    };
    std::vector<int> wrapped;  // which dimensions of an item came around the edge
    for (std::int64_t w = 0; w < count; ++w) {
      const Point corner = point(w, grid);
      for (std::int64_t a = 0; a < area; ++a) {
        const Point step = point(a, window);
        std::int64_t place = 0;
        int edges = 0;
        for (std::size_t d = 0; d < 3; ++d) {
          const std::int64_t rolled = corner[d] * window[d] + step[d] + shift[d];
          if (rolled >= shape.extent[d]) edges |= 1 << d;
          place = place * shape.extent[d] + rolled % shape.extent[d];
        }
        places.push_back(place);
        wrapped.push_back(edges);
      }
    }
    relative = (2 * window[0] - 1) * (2 * window[1] - 1) * (2 * window[2] - 1);
    for (std::int64_t a = 0; a < area; ++a) {
      for (std::int64_t b = 0; b < area; ++b) {
        const Point from = point(a, window);
        const Point to = point(b, window);
        std::int64_t row = 0;
        for (std::size_t d = 0; d < 3; ++d) row = row * (2 * window[d] - 1) + from[d] - to[d] + window[d] - 1;
        rows.push_back(row);
      }
    }
    if (shift == Point{}) return;
    constexpr float hidden = -1e30F;
    for (std::int64_t w = 0; w < count; ++w) {
      const int* const edges = wrapped.data() + w * area;
      for (std::int64_t pair = 0; pair < area * area; ++pair) {
        mask.push_back(edges[pair / area] == edges[pair % area] ? 0.0F : hidden);
      }
    }
  }

  std::int64_t area = 1, count = 1;    ///< of one window, and of them
  std::int64_t relative = 1;           ///< positions of one item to another
  std::vector<std::int64_t> places{};  ///< in a plane, of each window's items
  std::vector<std::int64_t> rows{};    ///< of the table, of each pair
  std::vector<float> mask{};           ///< of each window and pair; none without a shift
};

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

// Step by step, as frameworks do it: the image is copied into windows, scores are written, biased and masked, and the
// softmax reads and writes them. Matrices of a window and head have their channels outermost, as the image has.
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
    auto* next = static_cast<float*>(static_cast<void*>(device_.workspace->data()));
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
        const float* mask = windows_.mask.empty() ? nullptr : windows_.mask.data() + i % windows_.count * pairs_;
        weigh(scores + i * pairs_, scale, biases + head(i) * pairs_, mask, pairs_);
      }
      softmax_.forward(scores, probabilities);
      by_keys_(values, probabilities, result);
      copy(floats(buffers[2]), channels, 0, result, false);
      return;
    }
    copy(floats(buffers[2]), channels, 0, result, true);
    float* const to_input = floats(buffers[4]);
    // P' = dO·Vᵀ, and the values' gradient, which may use their room.
    by_features_(result, values, scores);
    by_queries_(result, probabilities, values);
    copy(to_input, 3 * channels, 2 * channels, values, false);
    softmax_.backward(probabilities, scores, gradients);
    // The table's gradient, summed over samples and windows, then over the pairs of a row.
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

  /// Between an image's channels from `first` on and the matrices of all samples, heads and windows.
  void copy(float* image, std::int64_t channels, std::int64_t first, float* matrices, bool into_windows) const {
    for (std::int64_t i = 0; i < matrices_; ++i) {
      const std::int64_t* const places = windows_.places.data() + i % windows_.count * windows_.area;
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
  Windows windows_;
  std::int64_t matrices_, items_, pairs_;
  MatrixProduct by_features_;  ///< of two [channels, area]: Aᵀ·B, a score for each pair
  MatrixProduct by_keys_;      ///< [channels, area] times the transposed scores: sums over keys
  MatrixProduct by_queries_;   ///< times the scores: sums over queries
  RowSoftmax softmax_;
  std::int64_t scratch_ = 0;
  std::vector<KernelTensor> tensors_{};
};

std::unique_ptr<PreparedKernel> prepare_window_attention(const Device& device, const Problem& problem) {
  // The table's gradient is made of those of the scores, which backward-data computes.
  if (problem.pass == Pass::backward_weight) return empty_kernel();
  return std::make_unique<WindowAttentionKernel>(device, problem);
}

}  // namespace

const Kind window_attention{"window_attention", only_fp32, prepare_window_attention};

}  // namespace ddl::onednn
