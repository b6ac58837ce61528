#include <algorithm>
#include <numeric>
#include <vector>

#include "estimator/facts/passes.hpp"

namespace ddl {
namespace {

/// Sets the groups of experts that a router chooses before it chooses experts.
void find_expert_groups(const Operation& router, ModelFacts& facts) {
  const AttributeValues values = router.attribute_values();
  facts.expert_groups = values.integer("groups", 0);
  facts.active_groups = values.integer("active_groups", 0);
}

/// Finds the tensors that backward needs only for the gradient of the router's weights.
void find_weighed_outputs(const Model& model, ModelFacts& facts) {
  facts.only_weighed.assign(model.layers.size(), false);
  for (std::size_t i = 0; i < model.layers.size(); ++i) {
    const Layer& layer = model.layers[i];
    if (layer.operation->type() != "combine" || layer.inputs.front() < 0) continue;
    const int owner = facts.storage[static_cast<std::size_t>(layer.inputs.front())];
    if (owner < 0) continue;
    bool only = true;
    for (TensorReader& reader : facts.readers[static_cast<std::size_t>(owner)]) {
      reader.only_weighs = reader.layer == static_cast<int>(i);
      only = only && (reader.only_weighs || !reader.keeps);
    }
    facts.only_weighed[static_cast<std::size_t>(layer.inputs.front())] = only;
  }
}

}  // namespace

void find_experts(const Model& model, ModelFacts& facts) {
  // Finds the layers from the dispatch of tokens to experts up to the combine.
  for (const Layer& layer : model.layers) {
    const bool is_behind = std::any_of(layer.inputs.begin(), layer.inputs.end(), [&](int input) {
      if (input < 0) return false;
      return facts.in_experts[static_cast<std::size_t>(input)] ||
             model.layers[static_cast<std::size_t>(input)].operation->type() == "dispatch";
    });
    facts.in_experts.push_back(is_behind && layer.operation->type() != "combine");
  }
  facts.weighs_bias.assign(model.layers.size(), false);
  for (const Layer& layer : model.layers) {
    if (layer.operation->type() != "combine") continue;
    const int maker = layer.inputs.front();
    if (maker < 0) continue;
    const Layer& last = model.layers[static_cast<std::size_t>(maker)];
    facts.weighs_bias[static_cast<std::size_t>(maker)] =
        last.operation->experts() > 1 && last.operation->biases(last.input_shapes, last.output_shape) > 0;
  }
  for (const Layer& layer : model.layers) {
    if (layer.operation->type() == "router") find_expert_groups(*layer.operation, facts);
    const std::int64_t experts = layer.operation->experts();
    if (experts <= 1) continue;
    facts.experts = std::gcd(facts.experts, experts);
    facts.expert_parameters += static_cast<double>(layer.parameters());
    facts.trained_expert_parameters += static_cast<double>(layer.trained());
  }
  find_weighed_outputs(model, facts);
}

}  // namespace ddl
