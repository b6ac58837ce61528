#include <algorithm>
#include <cstddef>
#include <vector>

#include "estimator/facts/passes.hpp"

namespace ddl {

void find_narrow_copies(const Model& model, ModelFacts& facts) {
  const std::size_t count = model.layers.size();
  facts.narrow_copies.assign(count, false);
  facts.output_kept_narrow.assign(count, false);
  for (std::size_t i = 0; i < count; ++i) {
    if (facts.kept[i].output) facts.output_kept_narrow[i] = true;
    if (!facts.kept[i].input || facts.is_linear[i]) continue;
    for (const int input : model.layers[i].inputs) {
      if (input >= 0) facts.output_kept_narrow[static_cast<std::size_t>(input)] = true;
    }
  }
  for (std::vector<TensorReader>& readers : facts.readers) {
    // A tensor that is kept anyway, for example by the attention that computes it, is not copied [NVIDIA, Megatron-LM,
    // megatron/core/transformer/attention.py and moe/shared_experts.py: set_save_original_input].
    bool is_copied = std::any_of(readers.begin(), readers.end(), [&](const TensorReader& reader) {
      return reader.keeps && !facts.is_linear[static_cast<std::size_t>(reader.layer)];
    });
    for (TensorReader& reader : readers) {
      const auto layer = static_cast<std::size_t>(reader.layer);
      reader.keeps_narrow = reader.keeps && !facts.is_linear[layer];
      if (!reader.keeps || !facts.is_linear[layer]) continue;
      if (!is_copied) facts.narrow_copies[layer] = true;
      is_copied = true;
    }
  }
}

namespace {

void add_matrices(const ModelFacts::Matrices& more, std::vector<ModelFacts::Matrices>& all) {
  const auto same = std::find_if(all.begin(), all.end(), [&](const ModelFacts::Matrices& each) {
    return each.rows == more.rows && each.columns == more.columns;
  });
  if (same != all.end()) {
    same->count += more.count;
  } else {
    all.push_back(more);
  }
}

}  // namespace

void count_base_parameters(const Model& model, ModelFacts& facts) {
  double trained = 0;
  for (std::size_t i = 0; i < model.layers.size(); ++i) {
    const Layer& layer = model.layers[i];
    if (!facts.is_linear[i] || layer.block < 0) continue;
    facts.base_parameters += static_cast<double>(layer.parameters() - layer.trained());
    trained += static_cast<double>(layer.trained());
    // Adapters are smaller than any rank that is worth a projection.
    if (layer.weights == 0 || layer.frozen > 0) continue;
    const auto experts = static_cast<double>(std::max<std::int64_t>(1, layer.operation->experts()));
    const auto rows = static_cast<double>(layer.output_shape.channels);
    const double columns = static_cast<double>(layer.weights) / experts / rows;
    const double keys = layer.operation->modules().empty() ? 0.0 : rows * layer.operation->key_share();
    add_matrices({rows - 2 * keys, columns, experts}, facts.block_matrices);
    if (keys > 0) add_matrices({keys, columns, 2 * experts}, facts.block_matrices);
  }
  if (facts.trained_parameters > 0) facts.muon_share = 1 - trained / facts.trained_parameters;
}

}  // namespace ddl
