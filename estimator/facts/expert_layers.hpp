#pragma once

#include "estimator/facts/model_facts.hpp"

namespace ddl {

/// Finds the layers of experts, their numbers and groups, and the outputs that the router's weights multiply. Requires
/// ModelFacts::storage and ModelFacts::readers.
void find_experts(const Model& model, ModelFacts& facts);

}  // namespace ddl
