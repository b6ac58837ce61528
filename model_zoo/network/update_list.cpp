#include "model_zoo/network/update_list.hpp"

namespace ddl {

std::int64_t parameter_tensors(const Layer& layer) {
  const std::int64_t matrices = layer.weights > 0 ? 1 : 0;
  if (layer.biases == 0) return matrices;
  // The scale and the shift of a norm both count as biases, because a split of input channels divides neither.
  const bool is_norm = layer.operation->type() == "norm" && layer.biases > layer.output_shape.channels;
  return matrices + (is_norm ? 2 : 1);
}

UpdateProblem update_of_all(const Model& model, Optimizer optimizer, Precision precision,
                            UpdateImplementation implementation) {
  UpdateProblem problem{timed_as(optimizer), 0, precision, implementation, 0};
  for (const Layer& layer : model.layers) {
    if (layer.trained() == 0) continue;
    problem.parameters += layer.trained();
    const std::int64_t adapters = layer.operation->adapters();
    problem.tensors += adapters > 0 ? 2 * adapters : parameter_tensors(layer);
  }
  return problem;
}

}  // namespace ddl
