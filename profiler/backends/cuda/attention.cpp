#include "profiler/backends/cuda/graphs/attention.hpp"

#include <array>
#include <cmath>
#include <optional>

#include "profiler/attribute_text.hpp"
#include "profiler/backends/cuda/matrix_product.hpp"
#include "profiler/backends/cuda/status.hpp"

namespace ddl::cuda {
namespace {

std::string refusal(const Problem& problem) {
  const AttributeText attributes(*problem.operation);
  if (problem.inputs.size() != 1) return "attention across two sequences is not in this back end";
  const std::int64_t heads = attributes.integer("heads", 1);
  if (attributes.integer("kv_heads", heads) != heads) return "shared key and value heads are not in this back end";
  if (problem.inputs.front().channels != 3 * problem.output.channels) {
    return "heads of another size are not in this back end";
  }
  for (const std::string_view key : {"window", "buckets", "alibi"}) {
    if (attributes.has(key)) return "attention with '" + std::string(key) + "' is not in this back end";
  }
  return {};
}

/// Attention by products of matrices, as a framework without a fused kernel does it: heads are split apart by copies, the
/// softmax scales and masks the scores that it reads, and probabilities are kept.
struct Products {
  Products(const Device& on, const Problem& problem)
      : device(on),
        precision(problem.precision),
        samples(problem.samples),
        tokens(problem.output.extent[0]),
        heads(AttributeText(*problem.operation).integer("heads", 1)),
        size(problem.output.channels / heads),
        rate(AttributeText(*problem.operation).number("dropout", 0)),
        scores{samples * heads * tokens, tokens, tokens, AttributeText(*problem.operation).flag("causal", false),
               static_cast<float>(1 / std::sqrt(static_cast<double>(size)))},
        by_features(on, {.m = tokens, .n = tokens, .k = size, .b_transposed = true, .count = samples * heads}, precision,
                    print_problem(problem) + " by features"),
        by_tokens(on, {.m = tokens, .n = size, .k = tokens, .count = samples * heads}, precision,
                  print_problem(problem) + " by tokens"),
        forward(problem.pass == Pass::forward) {
    if (!forward) {
      by_tokens_transposed.emplace(
          on, Product{.m = tokens, .n = size, .k = tokens, .a_transposed = true, .count = samples * heads}, precision,
          print_problem(problem) + " by tokens transposed");
      score_gradients = memory(score_items());
    }
    for (DeviceMemory& part : parts) part = memory(items());
    products = memory(score_items());
  }

  [[nodiscard]] std::int64_t items() const { return samples * tokens * heads * size; }
  [[nodiscard]] std::int64_t score_items() const { return scores.rows * scores.length; }
  [[nodiscard]] DeviceMemory memory(std::int64_t count) const { return DeviceMemory(buffer_bytes(count, precision, false)); }
  [[nodiscard]] std::size_t workspace() const {
    std::size_t bytes = products.bytes() + score_gradients.bytes() + by_features.workspace() + by_tokens.workspace();
    if (by_tokens_transposed) bytes += by_tokens_transposed->workspace();
    for (const DeviceMemory& part : parts) bytes += part.bytes();
    return bytes;
  }
  /// Queries, keys or values of the packed tensor, and the output, which is one alone.
  [[nodiscard]] device::Heads packed(int part) const {
    return {samples, tokens, heads, size, 3 * heads * size, part * heads * size};
  }
  [[nodiscard]] device::Heads single() const { return {samples, tokens, heads, size, heads * size, 0}; }
  [[nodiscard]] float keeps() const { return rate < 1 ? static_cast<float>(1 / (1 - rate)) : 0.0F; }

  void split(const void* input) {
    for (int part = 0; part < 3; ++part) {
      started(
          device::split_heads(device.launch(precision), packed(part), input, parts[static_cast<std::size_t>(part)].data()));
    }
  }
  void run_forward(const void* input, void* probabilities, std::uint8_t* mask, void* output) {
    const device::Launch launch = device.launch(precision);
    auto& [queries, keys, values, result] = parts;
    split(input);
    by_features.run(device, queries.data(), keys.data(), products.data());
    started(device::softmax(launch, scores, products.data(), probabilities));
    const void* dropped = probabilities;
    if (mask != nullptr) {
      started(device::dropout(launch, probabilities, mask, products.data(), score_items(), rate, ++seed));
      dropped = products.data();
    }
    by_tokens.run(device, dropped, values.data(), result.data());
    started(device::join_heads(launch, single(), result.data(), output));
  }
  void run_backward(const void* input, const void* probabilities, const std::uint8_t* mask, const void* output_gradient,
                    void* input_gradient) {
    const device::Launch launch = device.launch(precision);
    auto& [queries, keys, values, gradient] = parts;
    split(input);
    started(device::split_heads(launch, single(), output_gradient, gradient.data()));
    // P' = dO·Vᵀ, and the values' gradient Pᵀ·dO, which may use the room of the values.
    by_features.run(device, gradient.data(), values.data(), products.data());
    const void* dropped = probabilities;
    if (mask != nullptr) {
      started(device::mask(launch, probabilities, mask, score_gradients.data(), score_items(), keeps()));
      started(device::mask(launch, products.data(), mask, products.data(), score_items(), keeps()));
      dropped = score_gradients.data();
    }
    by_tokens_transposed->run(device, dropped, gradient.data(), values.data());
    started(device::join_heads(launch, packed(2), values.data(), input_gradient));
    started(device::softmax_backward(launch, scores, probabilities, products.data(), score_gradients.data()));
    by_tokens.run(device, score_gradients.data(), keys.data(), gradient.data());
    started(device::join_heads(launch, packed(0), gradient.data(), input_gradient));
    by_tokens_transposed->run(device, score_gradients.data(), queries.data(), gradient.data());
    started(device::join_heads(launch, packed(1), gradient.data(), input_gradient));
  }

  const Device& device;
  Precision precision;
  std::int64_t samples, tokens, heads, size;
  double rate;
  device::Scores scores;
  ProductRunner by_features, by_tokens;
  std::optional<ProductRunner> by_tokens_transposed;
  bool forward;
  std::array<DeviceMemory, 4> parts;  ///< queries, keys, values, and the output or its gradient, heads apart
  DeviceMemory products, score_gradients;
  std::uint64_t seed = 0;
};

/// By one kernel that keeps the scores to itself.
std::unique_ptr<PreparedKernel> prepare_fused(const Device& device, const Problem& problem) {
  AttentionGraph made = attention_graph(problem);
  const auto runner =
      std::make_shared<GraphRunner>(device, std::move(made.graph), problem.precision, print_problem(problem));
  const bool forward = problem.pass == Pass::forward;
  const Precision precision = problem.precision;
  const std::int64_t width = problem.output.channels;
  const std::int64_t items = problem.samples * problem.output.items();
  const std::int64_t rows =
      problem.samples * problem.output.positions() * AttributeText(*problem.operation).integer("heads", 1);
  std::vector<KernelTensor> tensors{flat(TensorRole::input, 0, 3 * items, false, precision),
                                    flat(TensorRole::kept, 0, rows, forward, Precision::fp32),
                                    flat(TensorRole::output, 0, items, forward, precision)};
  if (!forward) {
    tensors.push_back(flat(TensorRole::output_gradient, 0, items, false, precision));
    tensors.push_back(flat(TensorRole::input_gradient, 0, 3 * items, true, precision));
  }
  // Both directions draw the same mask: seed and offset are zeros. Sums of the queries, and their gradients in fp32.
  struct Scratch {
    DeviceMemory zeros, sums, accumulated;
  };
  const auto scratch = std::make_shared<Scratch>();
  scratch->zeros = DeviceMemory(buffer_bytes(4, Precision::fp32, false));
  check(cudaMemset(scratch->zeros.data(), 0, scratch->zeros.bytes()), "clearing a seed");
  if (!forward) {
    scratch->sums = DeviceMemory(buffer_bytes(rows, Precision::fp32, false));
    scratch->accumulated = DeviceMemory(buffer_bytes(items, Precision::fp32, false));
  }
  struct Names {
    Graph::Tensor queries, keys, values, output, statistics, seed, offset, output_gradient, query_gradient, key_gradient,
        value_gradient, sums, accumulated;
  };
  const Names names{made.queries,        made.keys,   made.values,          made.output,         made.statistics,
                    made.seed,           made.offset, made.output_gradient, made.query_gradient, made.key_gradient,
                    made.value_gradient, made.sums,   made.accumulated};
  // Behind one another in each token, in 16 bits.
  const auto part = [width](void* packed, std::int64_t number) -> void* {
    return static_cast<std::uint16_t*>(packed) + number * width;
  };
  return make_kernel(
      runner->name(), std::move(tensors),
      [=, &device](std::span<void* const> at) {
        std::vector<std::pair<Graph::Tensor, void*>> addresses{{names.queries, part(at[0], 0)},
                                                               {names.keys, part(at[0], 1)},
                                                               {names.values, part(at[0], 2)},
                                                               {names.statistics, at[1]},
                                                               {names.output, at[2]}};
        if (names.seed != 0) {
          addresses.emplace_back(names.seed, scratch->zeros.data());
          addresses.emplace_back(names.offset, scratch->zeros.data());
        }
        if (!forward) {
          addresses.emplace_back(names.output_gradient, at[3]);
          addresses.emplace_back(names.query_gradient, part(at[4], 0));
          addresses.emplace_back(names.key_gradient, part(at[4], 1));
          addresses.emplace_back(names.value_gradient, part(at[4], 2));
          addresses.emplace_back(names.sums, scratch->sums.data());
          addresses.emplace_back(names.accumulated, scratch->accumulated.data());
        }
        runner->run(device, std::move(addresses));
      },
      runner->workspace() + scratch->sums.bytes() + scratch->accumulated.bytes());
}

std::unique_ptr<PreparedKernel> prepare(const Device& device, const Problem& problem) {
  if (problem.pass == Pass::backward_weight) return empty_kernel();
  if (is_mixed(problem.precision) && AttributeText(*problem.operation).flag("fused", false) &&
      library_runs(device, problem, [](const Problem& pass) { return attention_graph(pass).graph; })) {
    return prepare_fused(device, problem);
  }
  const bool forward = problem.pass == Pass::forward;
  const auto products = std::make_shared<Products>(device, problem);
  const Precision precision = problem.precision;
  const std::int64_t items = products->items();
  std::vector<KernelTensor> tensors{
      flat(TensorRole::input, 0, 3 * items, false, precision),
      flat(TensorRole::kept, 0, products->score_items(), forward, precision),
      flat(forward ? TensorRole::output : TensorRole::output_gradient, 0, items, forward, precision)};
  if (!forward) tensors.push_back(flat(TensorRole::input_gradient, 0, 3 * items, true, precision));
  const bool drops = products->rate > 0;
  if (drops) {
    tensors.push_back(flat(TensorRole::kept, 1, products->score_items(), forward, Precision::fp32));
    tensors.back().bytes = true;
  }
  return make_kernel(
      products->by_features.name() + "+own:softmax", std::move(tensors),
      [products, forward, drops](std::span<void* const> at) {
        auto* mask = drops ? static_cast<std::uint8_t*>(at.back()) : nullptr;
        if (forward) {
          products->run_forward(at[0], at[1], mask, at[2]);
        } else {
          products->run_backward(at[0], at[1], mask, at[2], at[3]);
        }
      },
      products->workspace());
}

}  // namespace

const Kind attention{"attention", refusal, prepare};

}  // namespace ddl::cuda
