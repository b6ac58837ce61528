#pragma once

#include <vector>

#include "estimator/facts/model_facts.hpp"
#include "estimator/facts/recompute_modules.hpp"

namespace ddl {

/// Returns for each layer the modules of a transformer block that it belongs to, determined by the contents of its residual
/// branch, not by its name. `facts` must be complete up to ModelFacts::in_experts.
[[nodiscard]] std::vector<RecomputeModules> module_layers(const Model& model, const ModelFacts& facts);

}  // namespace ddl
