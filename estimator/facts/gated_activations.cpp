#include <cstddef>

#include "estimator/facts/passes.hpp"

namespace ddl {

void find_gated_activations(const Model& model, const std::vector<std::vector<int>>& consumers, ModelFacts& facts) {
  const std::size_t count = model.layers.size();
  facts.is_gated.assign(count, false);
  std::vector<bool> unkept(count, false);  // outputs of activations that are multiplied
  std::vector<bool> stored(count, false);  // tensors that a fused kernel keeps in fp8, if nothing else keeps them
  for (std::size_t i = 0; i < count; ++i) {
    const Layer& layer = model.layers[i];
    if (layer.operation->type() != "activation" || consumers[i].size() != 1 || layer.inputs.front() < 0) continue;
    if (facts.storage[i] != static_cast<int>(i)) continue;
    const auto product = static_cast<std::size_t>(consumers[i].front());
    const Layer& multiply = model.layers[product];
    if (multiply.operation->type() != "multiply" || multiply.inputs.size() != 2) continue;
    const int other = multiply.inputs[multiply.inputs.front() == static_cast<int>(i) ? 1 : 0];
    if (other < 0 || other == static_cast<int>(i) || multiply.output_shape.items() != layer.output_shape.items()) continue;
    facts.is_gated[i] = facts.is_gated[product] = true;
    unkept[i] = true;
    for (const int input : {layer.inputs.front(), other}) {
      const int owner = facts.storage[static_cast<std::size_t>(input)];
      if (owner >= 0) stored[static_cast<std::size_t>(owner)] = true;
    }
  }
  facts.output_kept_fused = facts.output_kept;
  for (std::size_t i = 0; i < count; ++i) {
    if (unkept[i]) facts.output_kept_fused[i] = facts.output_kept_narrow[i] = false;
    for (TensorReader& reader : facts.readers[i]) {
      reader.keeps_fused = reader.keeps && !unkept[i];
      reader.keeps_narrow = reader.keeps_narrow && !unkept[i];
      const bool is_stored = stored[i] && facts.is_gated[static_cast<std::size_t>(reader.layer)];
      reader.keeps_stored = reader.keeps_narrow && !is_stored;
    }
  }
  facts.output_kept_stored = facts.output_kept_narrow;
  for (std::size_t i = 0; i < count; ++i) {
    if (stored[i]) facts.output_kept_stored[i] = false;
  }
}

}  // namespace ddl
