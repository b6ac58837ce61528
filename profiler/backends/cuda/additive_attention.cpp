#include <algorithm>
#include <map>

#include "profiler/backends/cuda/matrix_product.hpp"

namespace ddl::cuda {
namespace {

/// Attention by v·tanh(W·query + U·key) [Bahdanau et al., "Neural machine translation by jointly learning to align and
/// translate", ICLR 2015]. The sums of all pairs are stored in memory, as in frameworks; their tanh is kept with the
/// softmax.
class AdditiveAttention {
 public:
  AdditiveAttention(const Device& on, const Problem& problem)
      : device_(on),
        precision_(problem.precision),
        forward_(problem.pass == Pass::forward),
        query_channels_(problem.inputs[0].channels),
        key_channels_(problem.inputs[1].channels) {
    const AttributeValues attributes = problem.operation->attribute_values();
    s_.samples = problem.samples;
    s_.queries = problem.inputs[0].extent[0];
    s_.keys = problem.inputs[1].extent[0];
    s_.features = attributes.integer("features", 1);
    s_.normalized = attributes.flag("normalized", false);
    const std::string key = print_problem(problem);
    const std::int64_t f = s_.features;
    projected_queries_ = memory(queries() * f, precision_);
    projected_keys_ = memory(keys() * f, precision_);
    scores_ = memory(pairs(), precision_);
    v_ = memory(f, Precision::fp32);
    length_ = memory(1, Precision::fp32);
    if (forward_) {
      add("queries", {.m = queries(), .n = f, .k = query_channels_, .b_transposed = true}, key);
      add("keys", {.m = keys(), .n = f, .k = key_channels_, .b_transposed = true}, key);
      add("means", {.m = s_.queries, .n = key_channels_, .k = s_.keys, .count = s_.samples}, key);
      return;
    }
    add("scores", {.m = s_.queries, .n = s_.keys, .k = key_channels_, .b_transposed = true, .count = s_.samples}, key);
    add("values", {.m = s_.keys, .n = key_channels_, .k = s_.queries, .a_transposed = true, .count = s_.samples}, key);
    add("to queries", {.m = queries(), .n = query_channels_, .k = f}, key);
    add("to keys", {.m = keys(), .n = key_channels_, .k = f}, key);
    add("query weights", {.m = f, .n = query_channels_, .k = queries(), .a_transposed = true}, key);
    add("key weights", {.m = f, .n = key_channels_, .k = keys(), .a_transposed = true}, key);
    values_ = memory(keys() * key_channels_, precision_);
    to_v_ = memory((queries() + 1) * f, Precision::fp32);
    to_bias_ = memory(f, precision_);
    const int parts = std::max(device::channel_sum_parts(rows_of(queries())), device::channel_sum_parts(rows_of(keys())));
    sums_ = memory(parts * f, Precision::fp32);
  }

  [[nodiscard]] std::vector<KernelTensor> tensors() const {
    const std::int64_t f = s_.features;
    const std::int64_t biases = f + (s_.normalized ? f + 1 : 0);
    const std::int64_t out = queries() * key_channels_;
    std::vector<KernelTensor> tensors{flat(TensorRole::input, 0, queries() * query_channels_, false, precision_),
                                      flat(TensorRole::input, 1, keys() * key_channels_, false, precision_),
                                      flat(TensorRole::weight, 0, f * query_channels_, false, precision_),
                                      flat(TensorRole::weight, 1, f * key_channels_, false, precision_),
                                      flat(TensorRole::bias, 0, biases, false, precision_),
                                      flat(TensorRole::kept, 0, pairs() * f, forward_, precision_),
                                      flat(TensorRole::kept, 1, pairs(), forward_, precision_)};
    if (forward_) {
      tensors.push_back(flat(TensorRole::output, 0, out, true, precision_));
      return tensors;
    }
    tensors.push_back(flat(TensorRole::output_gradient, 0, out, false, precision_));
    tensors.push_back(flat(TensorRole::input_gradient, 0, queries() * query_channels_, true, precision_));
    tensors.push_back(flat(TensorRole::input_gradient, 1, keys() * key_channels_, true, precision_));
    tensors.push_back(flat(TensorRole::weight_gradient, 0, f * query_channels_, true, precision_));
    tensors.push_back(flat(TensorRole::weight_gradient, 1, f * key_channels_, true, precision_));
    tensors.push_back(flat(TensorRole::bias_gradient, 0, biases, true, precision_));
    return tensors;
  }
  [[nodiscard]] std::string name() const { return products_.begin()->second.name() + "+own:additive_attention"; }
  [[nodiscard]] std::size_t workspace() const {
    std::size_t bytes = 0;
    for (const auto& [what, product] : products_) bytes += product.workspace();
    for (const DeviceMemory* part :
         {&projected_queries_, &projected_keys_, &scores_, &v_, &length_, &values_, &to_v_, &to_bias_, &sums_}) {
      bytes += part->bytes();
    }
    return bytes;
  }

  void run(std::span<void* const> at) {
    const device::Launch launch = device_.launch(precision_);
    started(device::weigh(launch, at[4], s_.features, s_.normalized, floats(v_), floats(length_)));
    const device::Scores rows{queries(), s_.keys, queries(), false, 1};
    if (forward_) {
      product("queries", at[0], at[2], projected_queries_.data());
      product("keys", at[1], at[3], projected_keys_.data());
      started(device::additive_scores(launch, s_, projected_queries_.data(), projected_keys_.data(), at[4], floats(v_),
                                      at[5], scores_.data()));
      started(device::softmax(launch, rows, scores_.data(), at[6]));
      product("means", at[6], at[1], at[7]);
      return;
    }
    // The gradient of the keys has two contributions: from the weighted means, and from the scores.
    product("scores", at[7], at[1], scores_.data());
    product("values", at[6], at[7], values_.data());
    started(device::softmax_backward(launch, rows, at[6], scores_.data(), scores_.data()));
    float* const v_parts = floats(to_v_);
    float* const to_v = v_parts + queries() * s_.features;
    started(device::additive_gradients(launch, s_, at[5], scores_.data(), floats(v_), projected_queries_.data(),
                                       projected_keys_.data(), v_parts));
    product("to queries", projected_queries_.data(), at[2], at[8]);
    product("to keys", projected_keys_.data(), at[3], at[9]);
    started(device::add(launch, at[9], values_.data(), at[9], keys() * key_channels_));
    product("query weights", projected_queries_.data(), at[0], at[10]);
    product("key weights", projected_keys_.data(), at[1], at[11]);
    started(device::channel_sums(device_.launch(Precision::fp32), rows_of(queries()), v_parts, floats(sums_), to_v));
    if (s_.normalized) {
      started(device::channel_sums(launch, rows_of(keys()), projected_keys_.data(), floats(sums_), to_bias_.data()));
    }
    started(device::direction_gradient(launch, at[4], to_v, floats(length_), to_bias_.data(), s_.features, s_.normalized,
                                       at[12]));
  }

 private:
  static DeviceMemory memory(std::int64_t items, Precision precision) {
    return DeviceMemory(buffer_bytes(items, precision, false));
  }
  static float* floats(const DeviceMemory& memory) { return static_cast<float*>(memory.data()); }
  void add(const std::string& what, const Product& shape, const std::string& key) {
    products_.try_emplace(what, device_, shape, precision_, key + " of the " + what);
  }
  void product(const std::string& what, const void* a, const void* b, void* c) { products_.at(what).run(device_, a, b, c); }
  [[nodiscard]] std::int64_t queries() const { return s_.samples * s_.queries; }
  [[nodiscard]] std::int64_t keys() const { return s_.samples * s_.keys; }
  [[nodiscard]] std::int64_t pairs() const { return queries() * s_.keys; }
  [[nodiscard]] device::Image rows_of(std::int64_t rows) const { return {rows, s_.features, 1, true}; }

  const Device& device_;
  Precision precision_;
  bool forward_;
  std::int64_t query_channels_, key_channels_;
  device::Additive s_;
  std::map<std::string, ProductRunner> products_;
  DeviceMemory projected_queries_, projected_keys_;  ///< projections, or their gradients
  DeviceMemory scores_, v_, length_, values_, to_v_, to_bias_, sums_;
};

std::unique_ptr<PreparedKernel> prepare_additive_attention(const Device& device, const Problem& problem) {
  // This pass is empty, because backward-data also computes the gradients of the weights, from the gradients of the sums.
  if (problem.pass == Pass::backward_weight) return empty_kernel();
  const auto attention = std::make_shared<AdditiveAttention>(device, problem);
  return make_kernel(
      attention->name(), attention->tensors(), [attention](std::span<void* const> at) { attention->run(at); },
      attention->workspace());
}

}  // namespace

const Kind additive_attention{"additive_attention", no_refusal, prepare_additive_attention};

}  // namespace ddl::cuda
