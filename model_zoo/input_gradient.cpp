#include "model_zoo/input_gradient.hpp"

#include <algorithm>

namespace ddl {

std::vector<bool> needs_input_gradient(const Model& model) {
  std::vector<bool> needs;
  std::vector<bool> trained;  // the layer's output depends on weights
  for (const Layer& layer : model.layers) {
    needs.push_back(std::any_of(layer.inputs.begin(), layer.inputs.end(),
                                [&](int input) { return input >= 0 && trained[static_cast<std::size_t>(input)]; }));
    trained.push_back(needs.back() || layer.parameters() > 0 || layer.tied_to >= 0);
  }
  return needs;
}

}  // namespace ddl
