#pragma once

#include <vector>

#include "estimator/facts/model_facts.hpp"

namespace ddl {

/// Finds the tables of a recommendation model (ModelFacts::tables): lookups whose rows are pooled or flattened to one vector
/// for each sample. `consumers`: for each layer, the layers that read its output.
void find_tables(const Model& model, const std::vector<std::vector<int>>& consumers, ModelFacts& facts);

}  // namespace ddl
