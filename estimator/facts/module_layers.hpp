#pragma once

#include <vector>

#include "estimator/facts/model_facts.hpp"
#include "estimator/facts/recompute_modules.hpp"

namespace ddl {

/// Returns, for each layer, the modules of a transformer block that the layer belongs to. A module is determined by the
/// contents of a residual branch, not by the names of layers. `facts` must be complete up to ModelFacts::in_experts.
[[nodiscard]] std::vector<RecomputeModules> module_layers(const Model& model, const ModelFacts& facts);

/// Returns whether an operation is attention. The additive attention of recurrent networks makes no transformer.
[[nodiscard]] bool attends(const Operation& operation);

}  // namespace ddl
