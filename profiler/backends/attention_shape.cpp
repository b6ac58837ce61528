#include "profiler/backends/attention_shape.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace ddl {

AttentionShape::AttentionShape(const Problem& problem)
    : samples(problem.samples),
      queries(problem.output.extent[0]),
      keys(problem.inputs.back().extent[0]),
      crossed(problem.inputs.size() == 2) {
  const AttributeValues attributes = problem.operation->attribute_values();
  heads = attributes.integer("heads", 1);
  kv_heads = attributes.integer("kv_heads", heads);
  size = problem.output.channels / heads;
  causal = attributes.flag("causal", false);
  fused = attributes.flag("fused", false);
  alibi = attributes.flag("alibi", false);
  window = attributes.integer("window", 0);
  buckets = attributes.integer("buckets", 0);
  dropout = attributes.number("dropout", 0);
  scale = static_cast<float>(1 / std::sqrt(static_cast<double>(size)));
}

float AttentionShape::slope(std::int64_t head) const {
  // ALiBi slopes are powers of 2^(−8/heads) [Press et al., "Train short, test long", ICLR 2022, section 3].
  return alibi ? std::exp2(-8.0F * static_cast<float>(head + 1) / static_cast<float>(heads)) : 0.0F;
}

std::vector<KernelTensor> AttentionShape::inputs(bool gradients, Precision precision) const {
  const auto tensor = [&](int index, std::int64_t items) {
    const TensorRole role = gradients ? TensorRole::input_gradient : TensorRole::input;
    return KernelTensor{.role = role, .index = index, .items = items, .written = gradients, .precision = precision};
  };
  std::vector<KernelTensor> tensors{tensor(0, samples * queries * query_row())};
  if (crossed) tensors.push_back(tensor(1, samples * keys * key_row()));
  return tensors;
}

// Buckets depend on distance: near keys have one bucket each, and keys further away share buckets [Raffel et al., "Exploring
// the limits of transfer learning", JMLR 21, 2020, section 2.1]. Half of the buckets are for later keys. The logarithm ends
// at a distance of 128, as in the code of the paper.
std::vector<std::int32_t> AttentionShape::buckets_of_pairs() const {
  constexpr double furthest = 128;
  std::vector<std::int32_t> result;
  result.reserve(static_cast<std::size_t>(queries * keys));
  const std::int64_t count = causal ? buckets : std::max<std::int64_t>(1, buckets / 2);
  const std::int64_t exact = count / 2;
  for (std::int64_t query = 0; query < queries; ++query) {
    for (std::int64_t key = 0; key < keys; ++key) {
      const std::int64_t distance = causal ? std::max<std::int64_t>(0, query - key) : std::abs(query - key);
      std::int64_t bucket = distance;
      if (distance >= exact) {
        const double share = exact == 0 ? 1.0
                                        : std::log(static_cast<double>(distance) / static_cast<double>(exact)) /
                                              std::log(furthest / static_cast<double>(exact));
        bucket = exact + static_cast<std::int64_t>(share * static_cast<double>(count - exact));
        bucket = std::clamp<std::int64_t>(bucket, 0, count - 1);
      }
      if (!causal && key > query && count < buckets) bucket += count;
      result.push_back(static_cast<std::int32_t>(bucket));
    }
  }
  return result;
}

}  // namespace ddl
