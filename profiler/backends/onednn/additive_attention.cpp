#include <algorithm>
#include <cmath>
#include <memory>

#include "profiler/backends/onednn/descriptions.hpp"
#include "profiler/backends/onednn/kernels.hpp"
#include "profiler/backends/onednn/matrix_product.hpp"
#include "profiler/backends/onednn/row_softmax.hpp"

namespace ddl::onednn {
namespace {

/// Computes tanh in place.
class Tanh {
 public:
  Tanh(const Device& device, std::int64_t items)
      : device_(device),
        data_(dense({items}, dnnl::memory::data_type::f32)),
        tanh_(describe_function(device, {}, dnnl::algorithm::eltwise_tanh, data_, 0.0F, 0.0F)) {}
  void operator()(float* data) const {
    const dnnl::memory memory(data_, device_.engine, data);
    tanh_.execute(device_.stream, {{DNNL_ARG_SRC, memory}, {DNNL_ARG_DST, memory}});
  }

 private:
  Device device_;
  dnnl::memory::desc data_;
  dnnl::eltwise_forward tanh_;
};

struct Sizes {
  explicit Sizes(const Problem& problem)
      : samples(problem.samples),
        queries(problem.inputs[0].extent[0]),
        keys(problem.inputs[1].extent[0]),
        query_channels(problem.inputs[0].channels),
        key_channels(problem.inputs[1].channels),
        features(problem.operation->attribute_values().integer("features", 1)),
        normalized(problem.operation->attribute_values().flag("normalized", false)) {}
  [[nodiscard]] std::int64_t query_items() const { return samples * queries * query_channels; }
  [[nodiscard]] std::int64_t key_items() const { return samples * keys * key_channels; }
  [[nodiscard]] std::int64_t pairs() const { return samples * queries * keys; }
  [[nodiscard]] std::int64_t sums() const { return pairs() * features; }
  [[nodiscard]] std::int64_t output_items() const { return samples * queries * key_channels; }
  /// The number of elements in the tensor of biases: v and, if normalized, the bias of the sums and the trained length of v.
  [[nodiscard]] std::int64_t biases() const { return features + (normalized ? features + 1 : 0); }
  /// The number of elements in the projected queries, and in the projected keys.
  [[nodiscard]] std::int64_t projected_queries() const { return samples * queries * features; }
  [[nodiscard]] std::int64_t projected_keys() const { return samples * keys * features; }

  std::int64_t samples, queries, keys, query_channels, key_channels, features;
  bool normalized;
};

/// Writes v, scaled to the trained length, for the scores. Returns the length of v before the scaling.
float weigh(const Sizes& sizes, const float* biases, float* v) {
  float squares = 0;
  for (std::int64_t f = 0; f < sizes.features; ++f) squares += biases[f] * biases[f];
  const float length = std::sqrt(squares);
  const float factor = sizes.normalized ? biases[2 * sizes.features] / length : 1.0F;
  for (std::int64_t f = 0; f < sizes.features; ++f) v[f] = biases[f] * factor;
  return length;
}

[[gnu::target_clones("avx512f", "avx2", "default")]] void add_rows(const float* a, const float* b, float* to,
                                                                   std::int64_t items) {
#pragma omp simd
  for (std::int64_t i = 0; i < items; ++i) to[i] = a[i] + b[i];
}
[[gnu::target_clones("avx512f", "avx2", "default")]] float product_of(const float* a, const float* b, std::int64_t items) {
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::int64_t i = 0; i < items; ++i) sum += a[i] * b[i];
  return sum;
}
/// Adds the gradient of a pair's sums to the gradients of its query and key; also computes the gradient of v.
[[gnu::target_clones("avx512f", "avx2", "default")]] void add_gradients(float score, const float* sums, const float* v,
                                                                        float* to_query, float* to_key, float* to_v,
                                                                        std::int64_t features) {
#pragma omp simd
  for (std::int64_t f = 0; f < features; ++f) {
    const float gradient = score * v[f] * (1 - sums[f] * sums[f]);
    to_query[f] += gradient;
    to_key[f] += gradient;
    to_v[f] += score * sums[f];
  }
}

using Shape = MatrixProduct::Shape;

struct Forward {
  Forward(const Device& device, const Sizes& s)
      : queries(device, Shape{.m = s.samples * s.queries, .n = s.features, .k = s.query_channels, .b_transposed = true}),
        keys(device, Shape{.m = s.samples * s.keys, .n = s.features, .k = s.key_channels, .b_transposed = true}),
        tanh(device, s.sums()),
        softmax(device, s.samples * s.queries, s.keys),
        means(device, Shape{.count = s.samples, .m = s.queries, .n = s.key_channels, .k = s.keys}) {}
  MatrixProduct queries, keys;
  Tanh tanh;
  RowSoftmax softmax;
  MatrixProduct means;
};

// The sums query + key of all pairs are stored in memory. Their tanh is also stored, and kept with the softmax.
std::unique_ptr<PreparedKernel> prepare_forward(const Device& device, const Sizes& s, std::vector<KernelTensor> tensors) {
  const auto parts = std::make_shared<const Forward>(device, s);
  tensors.push_back({TensorRole::output, 0, s.output_items(), true});
  return composed_kernel(device, "matmul+eltwise+softmax+loop", std::move(tensors),
                         s.projected_queries() + s.projected_keys() + s.pairs() + s.features,
                         [s, parts](std::span<DeviceBuffer* const> buffers, float* scratch) {
                           float* const queries = scratch;
                           float* const keys = queries + s.projected_queries();
                           float* const scores = keys + s.projected_keys();
                           float* const v = scores + s.pairs();
                           const float* const biases = floats(buffers[4]);
                           float* const sums = floats(buffers[5]);
                           parts->queries(floats(buffers[0]), floats(buffers[2]), queries);
                           parts->keys(floats(buffers[1]), floats(buffers[3]), keys);
                           static_cast<void>(weigh(s, biases, v));
                           // The bias of the sums is added to the keys, because it is equal for all pairs.
                           for (std::int64_t row = 0; s.normalized && row < s.samples * s.keys; ++row) {
                             add_rows(keys + row * s.features, biases + s.features, keys + row * s.features, s.features);
                           }
                           for (std::int64_t row = 0; row < s.samples * s.queries; ++row) {
                             const std::int64_t sample = row / s.queries;
                             for (std::int64_t key = 0; key < s.keys; ++key) {
                               add_rows(queries + row * s.features, keys + (sample * s.keys + key) * s.features,
                                        sums + (row * s.keys + key) * s.features, s.features);
                             }
                           }
                           parts->tanh(sums);
                           for (std::int64_t pair = 0; pair < s.pairs(); ++pair) {
                             scores[pair] = product_of(sums + pair * s.features, v, s.features);
                           }
                           parts->softmax.forward(scores, floats(buffers[6]));
                           parts->means(floats(buffers[6]), floats(buffers[1]), floats(buffers[7]));
                         });
}

struct Backward {
  Backward(const Device& device, const Sizes& s)
      : softmax(device, s.samples * s.queries, s.keys),
        scores(device, Shape{.count = s.samples, .m = s.queries, .n = s.keys, .k = s.key_channels, .b_transposed = true}),
        means(device, Shape{.count = s.samples, .m = s.keys, .n = s.key_channels, .k = s.queries, .a_transposed = true}),
        queries(device, Shape{.m = s.samples * s.queries, .n = s.query_channels, .k = s.features}),
        keys(device, Shape{.m = s.samples * s.keys, .n = s.key_channels, .k = s.features, .adds = true}),
        query_weights(device,
                      Shape{.m = s.features, .n = s.query_channels, .k = s.samples * s.queries, .a_transposed = true}),
        key_weights(device, Shape{.m = s.features, .n = s.key_channels, .k = s.samples * s.keys, .a_transposed = true}) {}
  RowSoftmax softmax;
  MatrixProduct scores, means, queries, keys, query_weights, key_weights;
};

std::unique_ptr<PreparedKernel> prepare_backward(const Device& device, const Sizes& s, std::vector<KernelTensor> tensors) {
  const auto parts = std::make_shared<const Backward>(device, s);
  tensors.insert(tensors.end(), {{TensorRole::output_gradient, 0, s.output_items(), false},
                                 {TensorRole::input_gradient, 0, s.query_items(), true},
                                 {TensorRole::input_gradient, 1, s.key_items(), true},
                                 {TensorRole::weight_gradient, 0, s.features * s.query_channels, true},
                                 {TensorRole::weight_gradient, 1, s.features * s.key_channels, true},
                                 {TensorRole::bias_gradient, 0, s.biases(), true}});
  return composed_kernel(device, "matmul+softmax+loop", std::move(tensors),
                         s.projected_queries() + s.projected_keys() + 2 * s.pairs() + 2 * s.features,
                         [s, parts](std::span<DeviceBuffer* const> buffers, float* scratch) {
                           float* const queries = scratch;
                           float* const keys = queries + s.projected_queries();
                           float* const scores = keys + s.projected_keys();
                           float* const to_scores = scores + s.pairs();
                           float* const v = to_scores + s.pairs();
                           float* const to_v = v + s.features;
                           const float* const sums = floats(buffers[5]);
                           float* const softmax = floats(buffers[6]);
                           const float* const above = floats(buffers[7]);
                           // The gradient of the keys has two contributions: from the weighted means, and from the scores.
                           parts->scores(above, floats(buffers[1]), scores);
                           parts->means(softmax, above, floats(buffers[9]));
                           parts->softmax.backward(softmax, scores, to_scores);
                           const float* const biases = floats(buffers[4]);
                           const float length = weigh(s, biases, v);
                           std::fill(queries, scores, 0.0F);
                           std::fill_n(to_v, s.features, 0.0F);
                           for (std::int64_t pair = 0; pair < s.pairs(); ++pair) {
                             const std::int64_t row = pair / s.keys;
                             const std::int64_t key = row / s.queries * s.keys + pair % s.keys;
                             add_gradients(to_scores[pair], sums + pair * s.features, v, queries + row * s.features,
                                           keys + key * s.features, to_v, s.features);
                           }
                           parts->queries(queries, floats(buffers[2]), floats(buffers[8]));
                           parts->keys(keys, floats(buffers[3]), floats(buffers[9]));
                           parts->query_weights(queries, floats(buffers[0]), floats(buffers[10]));
                           parts->key_weights(keys, floats(buffers[1]), floats(buffers[11]));
                           float* const to_biases = floats(buffers[12]);
                           std::copy_n(to_v, s.features, to_biases);
                           if (!s.normalized) return;
                           // v = g·w/|w|: dg = dv·w/|w|, dw = g/|w|·(dv − w·(dv·w)/|w|²) [Salimans and Kingma, equation 3].
                           const float along = product_of(to_v, biases, s.features) / length;
                           const float g = biases[2 * s.features];
                           for (std::int64_t f = 0; f < s.features; ++f) {
                             to_biases[f] = g / length * (to_v[f] - biases[f] / length * along);
                           }
                           float* const to_bias = to_biases + s.features;
                           std::fill_n(to_bias, s.features, 0.0F);
                           for (std::int64_t row = 0; row < s.samples * s.keys; ++row) {
                             add_rows(to_bias, keys + row * s.features, to_bias, s.features);
                           }
                           to_biases[2 * s.features] = along;
                         });
}

std::unique_ptr<PreparedKernel> prepare_additive_attention(const Device& device, const Problem& problem) {
  // This pass is empty, because backward-data also computes the gradients of the weights, from the gradients of the sums.
  if (problem.pass == Pass::backward_weight) return empty_kernel();
  const Sizes s(problem);
  const bool forward = problem.pass == Pass::forward;
  std::vector<KernelTensor> tensors{{TensorRole::input, 0, s.query_items(), false},
                                    {TensorRole::input, 1, s.key_items(), false},
                                    {TensorRole::weight, 0, s.features * s.query_channels, false},
                                    {TensorRole::weight, 1, s.features * s.key_channels, false},
                                    {TensorRole::bias, 0, s.biases(), false},
                                    {TensorRole::kept, 0, s.sums(), forward},
                                    {TensorRole::kept, 1, s.pairs(), forward}};
  return forward ? prepare_forward(device, s, std::move(tensors)) : prepare_backward(device, s, std::move(tensors));
}

}  // namespace

const Kind additive_attention{"additive_attention", only_fp32, prepare_additive_attention};

}  // namespace ddl::onednn
