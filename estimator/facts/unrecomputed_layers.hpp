#pragma once

#include <vector>

#include "estimator/facts/model_facts.hpp"
#include "model_zoo/network/model.hpp"

namespace ddl {

/// Finds the layers at the end of each block of which backward needs nothing, such as the last matrix product and the
/// addition after it: the gradients of a product need its inputs, and the gradient of an addition needs nothing.
/// Recomputation of a block can end before these layers. `consumers`: for each layer, the layers that read its output.
void find_spared_layers(const Model& model, const std::vector<std::vector<int>>& consumers, ModelFacts& facts);

}  // namespace ddl
