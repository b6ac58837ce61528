#include <array>
#include <cmath>
#include <optional>

#include "profiler/backends/attention_windows.hpp"
#include "profiler/backends/cuda/attention_parts.hpp"
#include "profiler/backends/cuda/matrix_product.hpp"
#include "profiler/backends/cuda/status.hpp"

namespace ddl::cuda {
namespace {

// Unfused window attention, as in frameworks. The image is copied into windows, and scores are
// written. The softmax biases and masks the scores that it reads. Images have innermost channels in
// every layout, because frameworks use them for this operation.
class WindowAttention {
 public:
  WindowAttention(const Device& on, const Problem& problem)
      : device_(on),
        room_(on.between),
        precision_(problem.precision),
        forward_(problem.pass == Pass::forward),
        samples_(problem.samples),
        heads_(problem.operation->attribute_values().integer("heads", 1)),
        size_(problem.output.channels / heads_),
        positions_(problem.output.positions()),
        windows_(problem),
        matrices_(samples_ * windows_.count * heads_),
        scale_(static_cast<float>(1 / std::sqrt(static_cast<double>(size_)))),
        by_features_(on, product({.m = windows_.area, .n = windows_.area, .k = size_, .b_transposed = true}), precision_,
                     print_problem(problem) + " by features"),
        by_keys_(on, product({.m = windows_.area, .n = size_, .k = windows_.area}), precision_,
                 print_problem(problem) + " by keys"),
        places_(on_device(windows_.places)),
        rows_(on_device(windows_.rows)),
        scores_(memory(matrices_ * pairs())) {
    for (WorkspacePart& part : parts_) part = memory(items());
    if (forward_) {
      biases_ = memory(heads_ * pairs());
      if (windows_.is_shifted) {
        edges_ = DeviceMemory(windows_.edges.size());
        check(cudaMemcpy(edges_.data(), windows_.edges.data(), windows_.edges.size(), cudaMemcpyHostToDevice),
              "copying to the device");
      }
    } else {
      by_queries_.emplace(on, product({.m = windows_.area, .n = size_, .k = windows_.area, .a_transposed = true}),
                          precision_, print_problem(problem) + " by queries");
      score_gradients_ = memory(matrices_ * pairs());
    }
  }

  [[nodiscard]] std::vector<KernelTensor> tensors() const {
    const auto image = [&](TensorRole role, std::int64_t parts, bool written) {
      KernelTensor tensor = flat(role, 0, parts * items(), written, precision_);
      tensor.channels = parts * heads_ * size_;
      tensor.positions = positions_;
      return tensor;
    };
    const std::int64_t table = windows_.relative * heads_;
    std::vector<KernelTensor> tensors{image(TensorRole::input, 3, false),
                                      flat(TensorRole::kept, 0, matrices_ * pairs(), forward_, precision_),
                                      image(forward_ ? TensorRole::output : TensorRole::output_gradient, 1, forward_)};
    // The gradient of the table of biases is summed in fp32.
    tensors.push_back(forward_ ? flat(TensorRole::bias, 0, table, false, precision_)
                               : flat(TensorRole::bias_gradient, 0, table, true, Precision::fp32));
    if (!forward_) tensors.push_back(image(TensorRole::input_gradient, 3, true));
    return tensors;
  }
  [[nodiscard]] std::string name() const { return by_features_.name() + "+own:softmax"; }
  [[nodiscard]] std::size_t workspace() const {
    std::size_t bytes =
        by_features_.workspace() + by_keys_.workspace() + scores_.bytes() + score_gradients_.bytes() + biases_.bytes();
    if (by_queries_) bytes += by_queries_->workspace();
    for (const WorkspacePart& part : parts_) bytes += part.bytes();
    return bytes;
  }

  void run(std::span<void* const> at) {
    auto& [queries, keys, values, result] = parts_;
    for (int part = 0; part < 3; ++part) {
      started(device::cut_windows(launch(), cut(3, part), at[0], parts_.at(static_cast<std::size_t>(part)).data()));
    }
    const auto* const rows = static_cast<const std::int32_t*>(rows_.data());
    if (forward_) {
      by_features_.run(device_, queries.data(), keys.data(), scores_.data());
      started(device::look_up_biases(launch(), at[3], rows, biases_.data(), heads_, pairs()));
      device::ScoreRules rules;
      rules.rows = matrices_ * windows_.area;
      rules.length = windows_.area;
      rules.queries = windows_.area;
      rules.heads = heads_;
      rules.scale = scale_;
      rules.windows = windows_.count;
      started(device::ruled_softmax(launch(), rules, biases_.data(),
                                    windows_.is_shifted ? static_cast<const std::uint8_t*>(edges_.data()) : nullptr,
                                    scores_.data(), at[1]));
      by_keys_.run(device_, at[1], values.data(), result.data());
      started(device::paste_windows(launch(), cut(1, 0), result.data(), at[2]));
      return;
    }
    started(device::cut_windows(launch(), cut(1, 0), at[2], result.data()));
    // Computes the gradient of the probabilities, dO·Vᵀ, and the gradient of the values, Pᵀ·dO,
    // which may reuse the memory of the values.
    by_features_.run(device_, result.data(), values.data(), scores_.data());
    by_queries_->run(device_, at[1], result.data(), values.data());
    started(device::paste_windows(launch(), cut(3, 2), values.data(), at[4]));
    const device::Scores scores{matrices_ * windows_.area, windows_.area, windows_.area, false, scale_};
    started(device::softmax_backward(launch(), scores, at[1], scores_.data(), score_gradients_.data()));
    auto* const table = static_cast<float*>(at[3]);
    const auto bytes = static_cast<std::size_t>(windows_.relative * heads_) * sizeof(float);
    check(cudaMemsetAsync(table, 0, bytes, device_.stream), "clearing a gradient");
    // The scale does not apply to the gradient of biases, because biases are added after it.
    started(device::table_gradient(launch(), score_gradients_.data(), rows, table, samples_ * windows_.count, heads_,
                                   pairs(), 1 / scale_));
    by_keys_.run(device_, score_gradients_.data(), keys.data(), result.data());
    started(device::paste_windows(launch(), cut(3, 0), result.data(), at[4]));
    by_queries_->run(device_, score_gradients_.data(), queries.data(), result.data());
    started(device::paste_windows(launch(), cut(3, 1), result.data(), at[4]));
  }

 private:
  [[nodiscard]] Product product(Product shape) const {
    shape.count = matrices_;
    return shape;
  }
  [[nodiscard]] device::Launch launch() const { return device_.launch(precision_); }
  [[nodiscard]] WorkspacePart memory(std::int64_t count) { return room_.take(buffer_bytes(count, precision_, false)); }
  [[nodiscard]] std::int64_t pairs() const { return windows_.area * windows_.area; }
  [[nodiscard]] std::int64_t items() const { return matrices_ * windows_.area * size_; }
  /// Selects part number `part` of `parts` consecutive parts of the channels of an image.
  [[nodiscard]] device::Cut cut(std::int64_t parts, std::int64_t part) const {
    return {samples_,
            windows_.count,
            heads_,
            windows_.area,
            size_,
            parts * heads_ * size_,
            part * heads_ * size_,
            static_cast<const std::int32_t*>(places_.data())};
  }

  const Device& device_;
  WorkspaceParts room_;
  Precision precision_;
  bool forward_;
  std::int64_t samples_, heads_, size_, positions_;
  AttentionWindows windows_;
  std::int64_t matrices_;
  float scale_;
  ProductRunner by_features_, by_keys_;
  std::optional<ProductRunner> by_queries_;
  DeviceMemory places_, rows_, edges_;
  WorkspacePart scores_, score_gradients_, biases_;
  std::array<WorkspacePart, 4> parts_;  ///< queries, keys, values, and the output or its gradient, by head and window
};

std::unique_ptr<PreparedKernel> prepare_window_attention(const Device& device, const Problem& problem) {
  // This pass is empty, because backward-data also computes the gradient of the table of biases,
  // from the gradients of the scores.
  if (problem.pass == Pass::backward_weight) return empty_kernel();
  const auto attention = std::make_shared<WindowAttention>(device, problem);
  return make_kernel(
      attention->name(), attention->tensors(), [attention](std::span<void* const> at) { attention->run(at); },
      attention->workspace());
}

}  // namespace

const Kind window_attention{"window_attention", windows_refusal, prepare_window_attention};

}  // namespace ddl::cuda
