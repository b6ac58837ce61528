#pragma once

#include <string>

#include "model_zoo/files/load_model.hpp"
#include "model_zoo/network/model.hpp"

namespace ddl {

/// Returns the network of the given items, each a line of a `layers:` list: `- relu`.
inline Model model_of(const std::string& input, const std::string& items) {
  return parse_model("format: 1\nmodel: m\ninput: " + input + "\nlayers:\n" + items, "m.yaml");
}

/// Returns the last layer of these items.
inline Layer layer_of(const std::string& input, const std::string& items) { return model_of(input, items).layers.back(); }

inline Work work_of(const Layer& layer, Pass pass) {
  return layer.operation->work(pass, layer.input_shapes, layer.output_shape);
}
inline Kept kept_of(const Layer& layer) { return layer.operation->kept(layer.input_shapes, layer.output_shape); }

}  // namespace ddl
