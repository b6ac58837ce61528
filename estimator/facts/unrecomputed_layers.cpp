#include <algorithm>
#include <cstddef>

#include "estimator/facts/passes.hpp"

namespace ddl {
namespace {

/// Returns whether backward of a layer needs a tensor that forward of this layer computes.
bool makes_results(const Kept& kept) {
  return kept.output || kept.mask_items > 0 || kept.extra_items > 0 || kept.operator_items > 0 || kept.statistics > 0 ||
         kept.batch_statistics > 0;
}

}  // namespace

void find_spared_layers(const Model& model, const std::vector<std::vector<int>>& consumers, ModelFacts& facts) {
  const std::size_t count = model.layers.size();
  facts.spared.assign(count, false);
  for (std::size_t i = count; i-- > 0;) {
    const int block = model.layers[i].block;
    if (block < 0) continue;
    const bool is_last = i + 1 == count || model.layers[i + 1].block != block;
    if (!is_last && !facts.spared[i + 1]) continue;
    // Later blocks read only the output of this block, which is in memory.
    const bool is_read = std::any_of(consumers[i].begin(), consumers[i].end(), [&](int reader) {
      const auto index = static_cast<std::size_t>(reader);
      return model.layers[index].block == block && facts.kept[index].input;
    });
    facts.spared[i] = !is_read && !makes_results(facts.kept[i]);
  }
}

}  // namespace ddl
