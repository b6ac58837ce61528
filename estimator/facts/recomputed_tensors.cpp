#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>
#include <vector>

#include "estimator/facts/passes.hpp"

namespace ddl {
namespace {

/// Whether compiled code computes the operation in the kernel that reads its result. Statistics of norms are kept.
bool is_fused_into_readers(std::string_view type) {
  constexpr std::array<std::string_view, 9> types{
      "activation", "add", "multiply", "scale", "dropout", "norm", "rotary_embedding", "query_key_norm", "cast"};
  return std::find(types.begin(), types.end(), type) != types.end();
}

/// Whether an unfused kernel of backward, such as a matrix product, reads the tensor from memory.
bool is_materialized_by(const Model& model, const TensorReader& reader) {
  return reader.layer >= 0 && !is_fused_into_readers(model.layers[static_cast<std::size_t>(reader.layer)].operation->type());
}

}  // namespace

void find_recomputed_tensors(const Model& model, ModelFacts& facts) {
  const std::size_t count = model.layers.size();
  std::vector<bool> recomputed(count, true);
  // A tensor is recomputed if each layer that writes into its memory is fused, and reads only available tensors.
  const auto is_available = [&](int owner) {
    if (owner < 0) return true;
    const auto at = static_cast<std::size_t>(owner);
    const std::vector<TensorReader>& readers = facts.readers[at];
    return recomputed[at] ||
           std::any_of(readers.begin(), readers.end(), [](const TensorReader& reader) { return reader.keeps; });
  };
  for (std::size_t i = 0; i < count; ++i) {
    const Layer& layer = model.layers[i];
    const int owner = facts.storage[i];
    if (owner < 0) continue;
    const auto at = static_cast<std::size_t>(owner);
    bool possible = layer.operation->is_view() || is_fused_into_readers(layer.operation->type());
    for (const int input : layer.inputs) {
      const int read = input < 0 ? -1 : facts.storage[static_cast<std::size_t>(input)];
      possible = possible && (read == owner || is_available(read));
    }
    recomputed[at] = recomputed[at] && possible && !layer.inputs.empty();
  }
  facts.output_kept_compiled = facts.output_kept;
  for (std::size_t i = 0; i < count; ++i) {
    for (TensorReader& reader : facts.readers[i])
      reader.keeps_compiled = reader.keeps && (!recomputed[i] || is_materialized_by(model, reader));
  }
  for (std::size_t i = 0; i < count; ++i) {
    const int owner = facts.storage[i];
    if (owner < 0 || !recomputed[static_cast<std::size_t>(owner)]) continue;
    const std::vector<TensorReader>& readers = facts.readers[static_cast<std::size_t>(owner)];
    const bool is_kept = std::ranges::any_of(readers, &TensorReader::keeps_compiled);
    facts.output_kept_compiled[i] = facts.output_kept[i] && is_kept;
  }
}

}  // namespace ddl
