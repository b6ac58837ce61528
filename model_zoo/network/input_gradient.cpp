#include "model_zoo/network/input_gradient.hpp"

#include <algorithm>

namespace ddl {
namespace {

/// Returns whether trained weights affect a layer's output in any way other than through the layer's inputs.
bool has_trained(const Model& model, const Layer& layer) {
  return (layer.parameters() > 0 || layer.tied_to >= 0) && !is_frozen(model, layer);
}

}  // namespace

std::vector<bool> needs_input_gradient(const Model& model) {
  std::vector<bool> needs;
  std::vector<bool> trained;  // for each layer, whether its output depends on trained weights
  for (const Layer& layer : model.layers) {
    needs.push_back(std::any_of(layer.inputs.begin(), layer.inputs.end(),
                                [&](int input) { return input >= 0 && trained[static_cast<std::size_t>(input)]; }));
    trained.push_back(needs.back() || has_trained(model, layer));
  }
  return needs;
}

std::vector<int> gradient_additions(const Model& model) {
  const std::vector<bool> needs = needs_input_gradient(model);
  std::vector<int> additions(model.layers.size(), -1);
  for (std::size_t i = 0; i < model.layers.size(); ++i) {
    for (const int input : model.layers[i].inputs) {
      if (needs[i] && input >= 0) ++additions[static_cast<std::size_t>(input)];
    }
  }
  for (std::size_t i = 0; i < additions.size(); ++i) {
    // A tensor that depends on no trained weights gets no gradient, even if its reader also reads tensors that get one.
    const Layer& layer = model.layers[i];
    const bool trained = needs[i] || has_trained(model, layer);
    additions[i] = trained ? std::max(0, additions[i]) : 0;
  }
  return additions;
}

}  // namespace ddl
