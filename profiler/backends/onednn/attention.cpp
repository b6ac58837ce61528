#include <algorithm>
#include <array>
#include <cmath>
#include <random>
#include <utility>

#include "profiler/attribute_text.hpp"
#include "profiler/backends/onednn/kernels.hpp"

namespace ddl::onednn {
namespace {

using dnnl::memory;

std::string refusal(const Problem& problem) {
  const AttributeText attributes(*problem.operation);
  if (problem.inputs.size() != 1) return "attention across two sequences is not in this back end";
  const std::int64_t heads = attributes.integer("heads", 1);
  if (attributes.integer("kv_heads", heads) != heads) return "shared key and value heads are not in this back end";
  if (problem.inputs.front().channels != 3 * problem.output.channels)
    return "heads of another size are not in this back end";
  for (const std::string_view key : {"window", "fused", "buckets", "alibi"}) {
    if (attributes.has(key)) return "attention with '" + std::string(key) + "' is not in this back end";
  }
  return only_fp32(problem);
}

/// A batched product C = A·B of dense matrices, `count` of them; B or A read transposed.
class Product {
 public:
  Product(const Device& device, std::int64_t count, std::int64_t m, std::int64_t n, std::int64_t k, bool a_transposed,
          bool b_transposed)
      : device_(device) {
    const auto matrices = [count](std::int64_t rows, std::int64_t columns, bool transposed) {
      const memory::dims strides =
          transposed ? memory::dims{rows * columns, 1, rows} : memory::dims{rows * columns, columns, 1};
      return memory::desc({count, rows, columns}, memory::data_type::f32, strides);
    };
    a_ = memory(matrices(m, k, a_transposed), device.engine, nullptr);
    b_ = memory(matrices(k, n, b_transposed), device.engine, nullptr);
    c_ = memory(matrices(m, n, false), device.engine, nullptr);
    product_ = dnnl::matmul(dnnl::matmul::primitive_desc({a_.get_desc(), b_.get_desc(), c_.get_desc()}, device.engine));
  }
  void operator()(float* a, float* b, float* c) {
    a_.set_data_handle(a);
    b_.set_data_handle(b);
    c_.set_data_handle(c);
    product_.execute(device_.stream, {{DNNL_ARG_SRC, a_}, {DNNL_ARG_WEIGHTS, b_}, {DNNL_ARG_DST, c_}});
  }

 private:
  Device device_;
  memory a_, b_, c_;
  dnnl::matmul product_;
};

/// Copies between [samples, tokens, width], of which it takes `channels` from `offset`, and [samples, heads, tokens, size].
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

// As a framework without a fused kernel does it: heads are split apart by copies, the scores are written, scaled and masked
// in a pass of their own, and the softmax reads and writes them.
class AttentionKernel final : public PreparedKernel {
 public:
  AttentionKernel(const Device& device, const Problem& problem)
      : device_(device),
        forward_(problem.pass == Pass::forward),
        samples_(problem.samples),
        tokens_(problem.output.extent[0]),
        heads_(AttributeText(*problem.operation).integer("heads", 1)),
        size_(problem.output.channels / heads_),
        causal_(AttributeText(*problem.operation).flag("causal", false)),
        rate_(AttributeText(*problem.operation).number("dropout", 0)),
        scale_(1.0F / std::sqrt(static_cast<float>(size_))),
        inside_(device, samples_, tokens_, heads_, size_, 3 * heads_ * size_),
        outside_(device, samples_, tokens_, heads_, size_, heads_ * size_),
        by_features_(device, samples_ * heads_, tokens_, tokens_, size_, false, true),
        by_tokens_(device, samples_ * heads_, tokens_, size_, tokens_, false, false),
        by_tokens_transposed_(device, samples_ * heads_, tokens_, size_, tokens_, true, false) {
    const std::int64_t width = heads_ * size_;
    const std::int64_t items = samples_ * tokens_ * width;
    const std::int64_t scores = samples_ * heads_ * tokens_ * tokens_;
    const memory::desc rows = dense({samples_ * heads_ * tokens_, tokens_}, memory::data_type::f32);
    const dnnl::softmax_forward::primitive_desc softmax({dnnl::prop_kind::forward_training, rows, 1}, device.engine);
    softmax_ = dnnl::softmax_forward(softmax);
    softmax_backward_ =
        dnnl::softmax_backward(dnnl::softmax_backward::primitive_desc({rows, rows, 1}, device.engine, softmax));
    rows_ = rows;
    for (auto& part : parts_) part.resize(static_cast<std::size_t>(items));
    scores_.resize(static_cast<std::size_t>(scores));
    if (!forward_) score_gradients_.resize(static_cast<std::size_t>(scores));
    tensors_.push_back({TensorRole::input, 0, 3 * items, false});
    tensors_.push_back({TensorRole::kept, 0, scores, forward_});
    tensors_.push_back({forward_ ? TensorRole::output : TensorRole::output_gradient, 0, items, forward_});
    if (!forward_) tensors_.push_back({TensorRole::input_gradient, 0, 3 * items, true});
    if (rate_ > 0) tensors_.push_back({TensorRole::kept, 1, scores, forward_});
  }

  std::span<const KernelTensor> tensors() const override { return tensors_; }
  std::string algorithm() const override { return "matmul+softmax+loop"; }
  Bytes workspace() const override {
    double items = static_cast<double>(scores_.size() + score_gradients_.size());
    for (const auto& part : parts_) items += static_cast<double>(part.size());
    return Bytes(items * sizeof(float));
  }

  void run(std::span<DeviceBuffer* const> buffers) override {
    float* input = floats(buffers[0]);
    float* probabilities = floats(buffers[1]);
    float* mask = rate_ > 0 ? floats(buffers.back()) : nullptr;
    const std::int64_t width = heads_ * size_;
    for (std::size_t part = 0; part < 3; ++part) {
      inside_.split(input + static_cast<std::int64_t>(part) * width, parts_[part].data());
    }
    if (forward_) {
      run_forward(probabilities, mask, floats(buffers[2]));
    } else {
      run_backward(probabilities, mask, floats(buffers[2]), floats(buffers[3]));
    }
  }

 private:
  void run_forward(float* probabilities, float* mask, float* output) {
    auto& [queries, keys, values, result] = parts_;
    by_features_(queries.data(), keys.data(), scores_.data());
    const std::int64_t rows = samples_ * heads_ * tokens_;
    for (std::int64_t row = 0; row < rows; ++row) {
      float* score = scores_.data() + row * tokens_;
      const std::int64_t seen = causal_ ? row % tokens_ + 1 : tokens_;
      for (std::int64_t i = 0; i < seen; ++i) score[i] *= scale_;
      for (std::int64_t i = seen; i < tokens_; ++i) score[i] = -1e30F;
    }
    execute_softmax(softmax_, {{DNNL_ARG_SRC, scores_.data()}, {DNNL_ARG_DST, probabilities}});
    float* dropped = probabilities;
    if (mask != nullptr) {
      const auto keep = rate_ < 1 ? static_cast<float>(1 / (1 - rate_)) : 0.0F;
      const auto threshold = static_cast<std::uint32_t>(std::min(rate_ * 4294967296.0, 4294967295.0));
      for (std::size_t i = 0; i < scores_.size(); ++i) mask[i] = random_() >= threshold ? keep : 0.0F;
      for (std::size_t i = 0; i < scores_.size(); ++i) scores_[i] = probabilities[i] * mask[i];
      dropped = scores_.data();
    }
    by_tokens_(dropped, values.data(), result.data());
    outside_.join(result.data(), output);
  }

  void run_backward(float* probabilities, const float* mask, float* output_gradient, float* input_gradient) {
    auto& [queries, keys, values, gradient] = parts_;
    const std::int64_t width = heads_ * size_;
    outside_.split(output_gradient, gradient.data());
    // P' = dO·Vᵀ, and the values' gradient Pᵀ·dO, which may use the room of the values.
    by_features_(gradient.data(), values.data(), scores_.data());
    float* dropped = probabilities;
    if (mask != nullptr) {
      for (std::size_t i = 0; i < scores_.size(); ++i) score_gradients_[i] = probabilities[i] * mask[i];
      for (std::size_t i = 0; i < scores_.size(); ++i) scores_[i] *= mask[i];
      dropped = score_gradients_.data();
    }
    by_tokens_transposed_(dropped, gradient.data(), values.data());
    inside_.join(values.data(), input_gradient + 2 * width);
    execute_softmax(
        softmax_backward_,
        {{DNNL_ARG_DST, probabilities}, {DNNL_ARG_DIFF_DST, scores_.data()}, {DNNL_ARG_DIFF_SRC, score_gradients_.data()}});
    for (float& score : score_gradients_) score *= scale_;
    by_tokens_(score_gradients_.data(), keys.data(), gradient.data());
    inside_.join(gradient.data(), input_gradient);
    by_tokens_transposed_(score_gradients_.data(), queries.data(), gradient.data());
    inside_.join(gradient.data(), input_gradient + width);
  }

  void execute_softmax(const dnnl::primitive& primitive, std::initializer_list<std::pair<int, float*>> arguments) {
    std::unordered_map<int, memory> memories;
    for (const auto& [name, data] : arguments) memories.emplace(name, memory(rows_, device_.engine, data));
    primitive.execute(device_.stream, memories);
  }

  Device device_;
  bool forward_;
  std::int64_t samples_, tokens_, heads_, size_;
  bool causal_;
  double rate_;
  float scale_;
  Heads inside_, outside_;
  Product by_features_, by_tokens_, by_tokens_transposed_;
  dnnl::softmax_forward softmax_;
  dnnl::softmax_backward softmax_backward_;
  memory::desc rows_;
  std::array<std::vector<float>, 4> parts_;  ///< queries, keys, values, and the output or its gradient, heads apart
  std::vector<float> scores_, score_gradients_;
  std::vector<KernelTensor> tensors_;
  std::mt19937 random_;
};

std::unique_ptr<PreparedKernel> prepare(const Device& device, const Problem& problem) {
  if (problem.pass == Pass::backward_weight) return empty_kernel();
  return std::make_unique<AttentionKernel>(device, problem);
}

}  // namespace

const Kind attention{"attention", refusal, prepare};

}  // namespace ddl::onednn
