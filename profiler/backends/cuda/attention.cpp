#include "profiler/backends/cuda/graphs/attention.hpp"

#include "profiler/backends/cuda/attention_parts.hpp"
#include "profiler/backends/cuda/status.hpp"

namespace ddl::cuda {
namespace {

/// Attention by a single kernel that does not write the scores.
std::unique_ptr<PreparedKernel> prepare_fused(const Device& device, const Problem& problem) {
  AttentionGraph made = attention_graph(problem);
  const auto runner =
      std::make_shared<GraphRunner>(device, std::move(made.graph), problem.precision, print_problem(problem));
  const bool forward = problem.pass == Pass::forward;
  const Precision precision = problem.precision;
  const AttentionShape shape(problem);
  const std::int64_t items = shape.samples * shape.queries * shape.width();
  const std::int64_t rows = shape.score_rows();
  std::vector<KernelTensor> tensors = shape.inputs(false, precision);
  const std::size_t inputs = tensors.size();
  tensors.push_back(flat(TensorRole::kept, 0, rows, forward, Precision::fp32));
  tensors.push_back(flat(TensorRole::output, 0, items, forward, precision));
  if (!forward) {
    tensors.push_back(flat(TensorRole::output_gradient, 0, items, false, precision));
    for (const KernelTensor& tensor : shape.inputs(true, precision)) tensors.push_back(tensor);
  }
  // Forward and backward draw the same dropout mask, because `zeros` gives both the same seed and
  // offset. `sums` has one number for each query, and `accumulated` holds gradients in fp32.
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
  // Returns the address of the keys (`number` 0) or of the values (`number` 1). Keys precede values
  // in each token. Elements have 16 bits.
  const auto keys_of = [shape](void* packed, std::int64_t number) -> void* {
    return static_cast<std::uint16_t*>(packed) + shape.key_offset() + number * shape.kv_width();
  };
  return make_kernel(
      runner->name(), std::move(tensors),
      [=, &device](std::span<void* const> at) {
        std::vector<std::pair<Graph::Tensor, void*>> addresses{{names.queries, at[0]},
                                                               {names.keys, keys_of(at[inputs - 1], 0)},
                                                               {names.values, keys_of(at[inputs - 1], 1)},
                                                               {names.statistics, at[inputs]},
                                                               {names.output, at[inputs + 1]}};
        if (names.seed != 0) {
          addresses.emplace_back(names.seed, scratch->zeros.data());
          addresses.emplace_back(names.offset, scratch->zeros.data());
        }
        if (!forward) {
          void* const to_keys = at[2 * inputs + 2];
          addresses.emplace_back(names.output_gradient, at[inputs + 2]);
          addresses.emplace_back(names.query_gradient, at[inputs + 3]);
          addresses.emplace_back(names.key_gradient, keys_of(to_keys, 0));
          addresses.emplace_back(names.value_gradient, keys_of(to_keys, 1));
          addresses.emplace_back(names.sums, scratch->sums.data());
          addresses.emplace_back(names.accumulated, scratch->accumulated.data());
        }
        runner->run(device, std::move(addresses));
      },
      runner->workspace() + scratch->sums.bytes() + scratch->accumulated.bytes());
}

/// Whether the graph supports the problem: no mask other than a causal one, and no biases. A window that covers all tokens
/// has no effect.
bool has_graph(const Problem& problem) {
  const AttentionShape shape(problem);
  return is_mixed(problem.precision) && shape.fused && !shape.alibi && shape.buckets == 0 &&
         (shape.window == 0 || (shape.causal && shape.window >= shape.keys));
}

std::unique_ptr<PreparedKernel> prepare_attention(const Device& device, const Problem& problem) {
  // This pass is empty, because backward-data also computes the gradient of trained biases, from
  // the gradients of the scores.
  if (problem.pass == Pass::backward_weight) return empty_kernel();
  if (has_graph(problem) && library_runs(device, problem, [](const Problem& pass) { return attention_graph(pass).graph; })) {
    return prepare_fused(device, problem);
  }
  return prepare_attention_products(device, problem);
}

}  // namespace

const Kind attention{"attention", no_refusal, prepare_attention};

}  // namespace ddl::cuda
