#include "model_zoo/network/model.hpp"

namespace ddl {

std::int64_t Model::parameters() const {
  std::int64_t sum = 0;
  for (const Layer& layer : layers) sum += layer.parameters();
  return sum;
}

std::int64_t Model::trained_parameters() const {
  std::int64_t sum = 0;
  for (const Layer& layer : layers) sum += layer.trained();
  return sum;
}

std::int64_t Model::buffers() const {
  std::int64_t sum = 0;
  for (const Layer& layer : layers) sum += layer.buffers;
  return sum;
}

std::string Model::family_parameter(std::string_view wanted) const {
  for (const auto& [known, value] : family_parameters) {
    if (known == wanted) return value;
  }
  return {};
}

double Model::macs() const {
  double sum = 0;
  for (const Layer& layer : layers) {
    if (!layer.auxiliary) sum += layer.operation->macs(layer.input_shapes, layer.output_shape);
  }
  return sum;
}

double Model::flops_forward() const { return flops(Pass::forward); }

double Model::flops(Pass pass) const {
  double sum = 0;
  for (const Layer& layer : layers) sum += layer.operation->work(pass, layer.input_shapes, layer.output_shape).flops;
  return sum;
}

bool is_frozen(const Model& model, const Layer& layer) {
  const Layer& owner = layer.tied_to >= 0 ? model.layers[static_cast<std::size_t>(layer.tied_to)] : layer;
  const std::int64_t parameters = layer.parameters() + (layer.tied_to >= 0 ? owner.parameters() : 0);
  return parameters > 0 && layer.trained() + (layer.tied_to >= 0 ? owner.trained() : 0) == 0;
}

const TensorShape& shape_of(const Model& model, int index) {
  return index < 0 ? model.input : model.layers[static_cast<std::size_t>(index)].output_shape;
}

}  // namespace ddl
