#include "model_zoo/network/written_sinks.hpp"

#include <map>
#include <memory>

namespace ddl {

void write_sinks(Model& model) {
  // Layers that shared an operation before share an operation afterwards, too.
  std::map<const Operation*, std::shared_ptr<const Operation>> written;
  for (Layer& layer : model.layers) {
    const auto [place, is_new] = written.try_emplace(layer.operation.get());
    if (is_new) {
      place->second = layer.operation->with_written_sinks();
      if (!place->second) place->second = layer.operation;
    }
    layer.operation = place->second;
  }
}

}  // namespace ddl
