#include "model_zoo/network/attention_variants.hpp"

#include <map>
#include <memory>

namespace ddl {
namespace {

using Replacement = std::shared_ptr<const Operation> (Operation::*)() const;

/// Replaces each operation for which `replacement` returns one.
void replace_operations(Model& model, Replacement replacement) {
  // Layers that shared an operation before share an operation afterwards, too.
  std::map<const Operation*, std::shared_ptr<const Operation>> replaced;
  for (Layer& layer : model.layers) {
    const auto [place, is_new] = replaced.try_emplace(layer.operation.get());
    if (is_new) {
      place->second = (*layer.operation.*replacement)();
      if (!place->second) place->second = layer.operation;
    }
    layer.operation = place->second;
  }
}

}  // namespace

void write_sinks(Model& model) { replace_operations(model, &Operation::with_written_sinks); }

void read_masks(Model& model) { replace_operations(model, &Operation::with_mask); }

}  // namespace ddl
