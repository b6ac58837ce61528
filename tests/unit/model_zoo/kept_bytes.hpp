#pragma once

#include <map>
#include <vector>

#include "model_zoo/network/model.hpp"

namespace ddl {

/// Bytes per sample that the given layers keep for backward, each tensor counted once.
struct KeptBytes {
  std::map<int, double> tensors;  ///< bytes of the tensors, by the layer that makes them; −1 is the model's input
  double own = 0;                 ///< bytes of masks, indices and scores
  [[nodiscard]] double sum() const {
    double bytes = own;
    for (const auto& [layer, size] : tensors) bytes += size;
    return bytes;
  }
};

inline KeptBytes kept_bytes(const Model& model, const std::vector<int>& layers, double item_bytes) {
  KeptBytes bytes;
  for (const int index : layers) {
    const Layer& layer = model.layers[static_cast<std::size_t>(index)];
    const Kept kept = layer.operation->kept(layer.input_shapes, layer.output_shape);
    const auto keep = [&](int tensor) {
      bytes.tensors[tensor] = static_cast<double>(shape_of(model, tensor).items()) * item_bytes;
    };
    for (const int input : layer.inputs) {
      if (kept.input) keep(input);
    }
    if (kept.output) keep(index);
    bytes.own += kept.mask_items + kept.extra_items * item_bytes;
  }
  return bytes;
}

}  // namespace ddl
