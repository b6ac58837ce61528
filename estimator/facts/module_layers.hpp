#pragma once

#include <vector>

#include "estimator/facts/model_facts.hpp"
#include "estimator/facts/recompute_modules.hpp"

namespace ddl {

/// Returns of each layer the modules that it is a part of, in blocks of transformers: by what its branch of a residual
/// connection holds, not by its name. `facts` are complete up to ModelFacts::in_experts.
[[nodiscard]] std::vector<RecomputeModules> module_layers(const Model& model, const ModelFacts& facts);

}  // namespace ddl
