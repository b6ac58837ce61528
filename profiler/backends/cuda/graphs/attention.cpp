#include "profiler/backends/cuda/graphs/attention.hpp"

#include <limits>
#include <optional>
#include <utility>

#include "profiler/backends/cuda/attention_parts.hpp"

namespace ddl::cuda {
namespace {

using Tensor = Graph::Tensor;

/// Operations on tensors [samples, heads, rows, columns], composed as in cuDNN's documentation of attention ("Graph API,
/// Attention", and the open-source frontend's description of the same graph). Results are virtual and fp32 unless noted.
class Composer {
 public:
  Composer(Graph& graph, std::int64_t samples, std::int64_t heads) : graph_(graph), samples_(samples), heads_(heads) {}

  [[nodiscard]] Extents extents(std::int64_t rows, std::int64_t columns) const {
    return dense({samples_, heads_, rows, columns});
  }
  [[nodiscard]] static Extents turned(Extents extents) {
    std::swap(extents.sizes[2], extents.sizes[3]);
    std::swap(extents.strides[2], extents.strides[3]);
    return extents;
  }

  void multiply(Tensor first, Tensor second, Tensor result) {
    Descriptor& product = graph_.add_part(CUDNN_BACKEND_MATMUL_DESCRIPTOR);
    product.set(CUDNN_ATTR_MATMUL_COMP_TYPE, CUDNN_DATA_FLOAT);
    product.finish();
    Descriptor& operation = graph_.add_operation(CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR);
    graph_.attach(CUDNN_ATTR_OPERATION_MATMUL_ADESC, first);
    graph_.attach(CUDNN_ATTR_OPERATION_MATMUL_BDESC, second);
    graph_.attach(CUDNN_ATTR_OPERATION_MATMUL_CDESC, result);
    operation.set(CUDNN_ATTR_OPERATION_MATMUL_DESC, product);
    graph_.finish_operation();
  }

  /// Adds an element-wise operation on `first`, and on `second` and `third` if given.
  void point(cudnnPointwiseMode_t mode, Tensor first, std::optional<Tensor> second, std::optional<Tensor> third,
             Tensor result, cudnnDataType_t in = CUDNN_DATA_FLOAT, std::int64_t axis = -1) {
    Descriptor& function = graph_.add_part(CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
    function.set(CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, 1, &mode);
    function.set(CUDNN_ATTR_POINTWISE_MATH_PREC, in);
    if (axis >= 0) function.set(CUDNN_ATTR_POINTWISE_AXIS, axis);
    function.finish();
    Descriptor& operation = graph_.add_operation(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
    operation.set(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, function);
    graph_.attach(CUDNN_ATTR_OPERATION_POINTWISE_XDESC, first);
    if (second) graph_.attach(CUDNN_ATTR_OPERATION_POINTWISE_BDESC, *second);
    if (third) graph_.attach(CUDNN_ATTR_OPERATION_POINTWISE_TDESC, *third);
    graph_.attach(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, result);
    graph_.finish_operation();
  }
  Tensor point(cudnnPointwiseMode_t mode, const Extents& shape, Tensor first, std::optional<Tensor> second = std::nullopt,
               cudnnDataType_t type = CUDNN_DATA_FLOAT) {
    const Tensor result = graph_.add_virtual(shape, type);
    point(mode, first, second, std::nullopt, result);
    return result;
  }

  /// Reduces over the last dimension.
  Tensor reduce(cudnnReduceTensorOp_t mode, Tensor from, const Extents& shape) {
    const Tensor result = graph_.add_virtual(shape, CUDNN_DATA_FLOAT);
    reduce(mode, from, result);
    return result;
  }
  void reduce(cudnnReduceTensorOp_t mode, Tensor from, Tensor result) {
    Descriptor& reduction = graph_.add_part(CUDNN_BACKEND_REDUCTION_DESCRIPTOR);
    reduction.set(CUDNN_ATTR_REDUCTION_OPERATOR, CUDNN_TYPE_REDUCTION_OPERATOR_TYPE, 1, &mode);
    reduction.set(CUDNN_ATTR_REDUCTION_COMP_TYPE, CUDNN_DATA_FLOAT);
    reduction.finish();
    Descriptor& operation = graph_.add_operation(CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR);
    graph_.attach(CUDNN_ATTR_OPERATION_REDUCTION_XDESC, from);
    graph_.attach(CUDNN_ATTR_OPERATION_REDUCTION_YDESC, result);
    operation.set(CUDNN_ATTR_OPERATION_REDUCTION_DESC, reduction);
    graph_.finish_operation();
  }

  /// Adds a matrix product that has the shape of keys or values. If query heads share a key and
  /// value head, the result is the sum over these query heads.
  void multiply_and_sum(Tensor first, Tensor second, Tensor result, const Extents& apart, bool shared) {
    if (!shared) return multiply(first, second, result);
    const Tensor each = graph_.add_virtual(apart, CUDNN_DATA_FLOAT);
    multiply(first, second, each);
    reduce(CUDNN_REDUCE_TENSOR_ADD, each, result);
  }

  Tensor reshape(Tensor from, const Extents& shape, cudnnDataType_t type) {
    const Tensor result = graph_.add_virtual(shape, type);
    graph_.add_operation(CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR);
    graph_.attach(CUDNN_ATTR_OPERATION_RESHAPE_XDESC, from);
    graph_.attach(CUDNN_ATTR_OPERATION_RESHAPE_YDESC, result);
    graph_.finish_operation();
    return result;
  }

  /// Masks the scores of all tokens that follow the query's token.
  Tensor mask_later(Tensor scores, const Extents& shape) {
    const Tensor rows = graph_.add_virtual(shape, CUDNN_DATA_INT32);
    const Tensor columns = graph_.add_virtual(shape, CUDNN_DATA_INT32);
    const Tensor sees = graph_.add_virtual(shape, CUDNN_DATA_BOOLEAN);
    const Tensor result = graph_.add_virtual(shape, CUDNN_DATA_FLOAT);
    const Tensor nothing = graph_.add_scalar(std::numeric_limits<float>::lowest(), 4);
    point(CUDNN_POINTWISE_GEN_INDEX, scores, std::nullopt, std::nullopt, rows, CUDNN_DATA_INT32, 2);
    point(CUDNN_POINTWISE_GEN_INDEX, scores, std::nullopt, std::nullopt, columns, CUDNN_DATA_INT32, 3);
    point(CUDNN_POINTWISE_CMP_GE, rows, columns, std::nullopt, sees, CUDNN_DATA_BOOLEAN);
    point(CUDNN_POINTWISE_BINARY_SELECT, scores, nothing, sees, result);
    return result;
  }

  /// Draws a mask of ones and zeros. The same seed gives the same mask.
  Tensor draw(double probability, const Extents& shape, Tensor seed, Tensor offset) {
    Descriptor& random = graph_.add_part(CUDNN_BACKEND_RNG_DESCRIPTOR);
    const cudnnRngDistribution_t distribution = CUDNN_RNG_DISTRIBUTION_BERNOULLI;
    random.set(CUDNN_ATTR_RNG_DISTRIBUTION, CUDNN_TYPE_RNG_DISTRIBUTION, 1, &distribution);
    random.set(CUDNN_ATTR_RNG_BERNOULLI_DIST_PROBABILITY, probability);
    random.finish();
    const Tensor result = graph_.add_virtual(shape, CUDNN_DATA_FLOAT);
    Descriptor& operation = graph_.add_operation(CUDNN_BACKEND_OPERATION_RNG_DESCRIPTOR);
    graph_.attach(CUDNN_ATTR_OPERATION_RNG_SEED, seed);
    graph_.attach(CUDNN_ATTR_OPERATION_RNG_OFFSET_DESC, offset);
    graph_.attach(CUDNN_ATTR_OPERATION_RNG_YDESC, result);
    operation.set(CUDNN_ATTR_OPERATION_RNG_DESC, random);
    graph_.finish_operation();
    return result;
  }

 private:
  Graph& graph_;
  std::int64_t samples_, heads_;
};

}  // namespace

AttentionGraph attention_graph(const Problem& problem) {
  const AttentionShape shape(problem);
  const std::int64_t size = shape.size;
  const bool causal = shape.causal;
  const bool shared = shape.kv_heads != shape.heads;
  const double rate = shape.dropout;
  const cudnnDataType_t type = data_type(problem.precision);

  AttentionGraph result;
  Graph& graph = result.graph;
  Composer compose(graph, shape.samples, shape.heads);
  const Extents scores = compose.extents(shape.queries, shape.keys);
  const Extents rows = compose.extents(shape.queries, 1);
  // The heads of a token are interleaved. In a packed tensor, queries, keys and values are interleaved, too.
  const auto interleaved = [&](std::int64_t heads, std::int64_t tokens, std::int64_t pitch) {
    return Extents{{shape.samples, heads, tokens, size}, {tokens * pitch, size, pitch, 1}};
  };
  const Extents query = interleaved(shape.heads, shape.queries, shape.query_row());
  const Extents key = interleaved(shape.kv_heads, shape.keys, shape.key_row());
  const Extents single = interleaved(shape.heads, shape.queries, shape.width());
  const Tensor factor = graph.add_scalar(shape.scale, 4);
  const Tensor keep_scale = rate > 0 ? graph.add_scalar(static_cast<float>(1 / (1 - rate)), 4) : 0;
  if (rate > 0) {
    const Extents one = dense({1, 1, 1, 1});
    result.seed = graph.add_tensor(one, CUDNN_DATA_INT64);
    result.offset = graph.add_tensor(one, CUDNN_DATA_INT64);
  }
  result.queries = graph.add_tensor(query, type);
  result.keys = graph.add_tensor(Composer::turned(key), type);
  result.output = graph.add_tensor(single, type);
  result.statistics = graph.add_tensor(rows, CUDNN_DATA_FLOAT);

  if (problem.pass == Pass::forward) {
    result.values = graph.add_tensor(key, type);
    Tensor score = graph.add_virtual(scores, CUDNN_DATA_FLOAT);
    compose.multiply(result.queries, result.keys, score);
    score = compose.point(CUDNN_POINTWISE_MUL, scores, score, factor);
    if (causal) score = compose.mask_later(score, scores);
    const Tensor largest = compose.reduce(CUDNN_REDUCE_TENSOR_MAX, score, rows);
    const Tensor below = compose.point(CUDNN_POINTWISE_SUB, scores, score, largest);
    const Tensor powers = compose.point(CUDNN_POINTWISE_EXP, scores, below);
    const Tensor sum = compose.reduce(CUDNN_REDUCE_TENSOR_ADD, powers, rows);
    const Tensor logarithm = compose.point(CUDNN_POINTWISE_LOG, rows, sum);
    compose.point(CUDNN_POINTWISE_ADD, largest, logarithm, std::nullopt, result.statistics);
    Tensor probability = compose.point(CUDNN_POINTWISE_DIV, scores, powers, sum, rate > 0 ? CUDNN_DATA_FLOAT : type);
    if (rate > 0) {
      const Tensor stays = compose.draw(1 - rate, scores, result.seed, result.offset);
      probability = compose.point(CUDNN_POINTWISE_MUL, scores, probability, stays);
      probability = compose.point(CUDNN_POINTWISE_MUL, scores, probability, keep_scale, type);
    }
    compose.multiply(probability, result.values, result.output);
    return result;
  }

  result.values = graph.add_tensor(Composer::turned(key), type);
  result.output_gradient = graph.add_tensor(single, type);
  result.query_gradient = graph.add_tensor(query, type);
  result.key_gradient = graph.add_tensor(key, type);
  result.value_gradient = graph.add_tensor(key, type);
  result.sums = graph.add_tensor(rows, CUDNN_DATA_FLOAT);
  const Extents apart = compose.extents(shape.keys, size);
  result.accumulated = graph.add_tensor(compose.extents(shape.queries, size), CUDNN_DATA_FLOAT);
  const Tensor stays = rate > 0 ? compose.draw(1 - rate, scores, result.seed, result.offset) : 0;

  // Computes Σ dO·O for each query, which the gradient of the softmax subtracts.
  const Tensor products =
      compose.point(CUDNN_POINTWISE_MUL, compose.extents(shape.queries, size), result.output_gradient, result.output);
  const Tensor sum = compose.reduce(CUDNN_REDUCE_TENSOR_ADD, products, rows);
  const Tensor undo = graph.add_scalar(static_cast<float>(1 - rate), 4);
  compose.point(CUDNN_POINTWISE_MUL, sum, undo, std::nullopt, result.sums);

  // Recomputes the probabilities P, and adds dV = Pᵀ·dO.
  Tensor score = graph.add_virtual(scores, CUDNN_DATA_FLOAT);
  compose.multiply(result.queries, result.keys, score);
  score = compose.point(CUDNN_POINTWISE_MUL, scores, score, factor);
  score = compose.point(CUDNN_POINTWISE_SUB, scores, score, result.statistics);
  if (causal) score = compose.mask_later(score, scores);
  const Tensor probability = compose.point(CUDNN_POINTWISE_EXP, scores, score);
  Tensor dropped = probability;
  if (rate > 0) {
    dropped = compose.point(CUDNN_POINTWISE_MUL, scores, dropped, stays);
    dropped = compose.point(CUDNN_POINTWISE_MUL, scores, dropped, keep_scale);
  }
  dropped = compose.reshape(dropped, Composer::turned(scores), type);
  compose.multiply_and_sum(dropped, result.output_gradient, result.value_gradient, apart, shared);

  // Adds dP = dO·Vᵀ, dS = P·(dP - Σ dO·O), dK = dSᵀ·Q and dQ = dS·K.
  Tensor slope = graph.add_virtual(scores, CUDNN_DATA_FLOAT);
  compose.multiply(result.output_gradient, result.values, slope);
  if (rate > 0) slope = compose.point(CUDNN_POINTWISE_MUL, scores, slope, stays);
  slope = compose.point(CUDNN_POINTWISE_SUB, scores, slope, result.sums);
  slope = compose.point(CUDNN_POINTWISE_MUL, scores, slope, probability);
  if (rate > 0) slope = compose.point(CUDNN_POINTWISE_MUL, scores, slope, keep_scale);
  slope = compose.point(CUDNN_POINTWISE_MUL, scores, slope, factor);
  const Tensor turned_slope = compose.reshape(slope, Composer::turned(scores), type);
  compose.multiply_and_sum(turned_slope, result.queries, result.key_gradient, apart, shared);
  const Tensor keys = compose.reshape(result.keys, key, type);
  compose.multiply(slope, keys, result.accumulated);
  compose.point(CUDNN_POINTWISE_IDENTITY, result.accumulated, std::nullopt, std::nullopt, result.query_gradient);
  return result;
}

}  // namespace ddl::cuda
