#include <algorithm>
#include <cstddef>

#include "estimator/facts/passes.hpp"

namespace ddl {
namespace {

/// Returns the layer whose output is the one vector of a lookup for each sample; −1 if there is none.
int vector_of(const Model& model, const std::vector<std::vector<int>>& consumers, int lookup) {
  int last = lookup;
  while (consumers[static_cast<std::size_t>(last)].size() == 1) {
    const int next = consumers[static_cast<std::size_t>(last)].front();
    const Layer& layer = model.layers[static_cast<std::size_t>(next)];
    const bool pools = layer.operation->type() == "pool" && layer.output_shape.positions() == 1;
    if (!pools && layer.operation->type() != "flatten") break;
    last = next;
  }
  const TensorShape& vector = model.layers[static_cast<std::size_t>(last)].output_shape;
  const TensorShape& rows = model.layers[static_cast<std::size_t>(lookup)].output_shape;
  return vector.rank == 0 && vector.channels == rows.channels ? last : -1;
}

}  // namespace

void find_tables(const Model& model, const std::vector<std::vector<int>>& consumers, ModelFacts& facts) {
  const auto is_shared = [&](int layer) {
    return std::any_of(facts.tied.begin(), facts.tied.end(), [&](const TiedLayer& each) { return each.owner == layer; });
  };
  double rows = 0;
  for (std::size_t i = 0; i < model.layers.size(); ++i) {
    const Layer& layer = model.layers[i];
    const auto index = static_cast<int>(i);
    if (layer.operation->type() == "embedding") facts.lookup_parameters += static_cast<double>(layer.trained());
    if (layer.operation->type() != "embedding" || layer.trained() == 0 || is_shared(index)) continue;
    const int last = vector_of(model, consumers, index);
    if (last < 0) continue;
    const SharedTable table = layer.operation->shared_table(layer.input_shapes, layer.output_shape);
    facts.of_table.resize(model.layers.size(), -1);
    for (int each = index; each >= 0;) {
      facts.of_table[static_cast<std::size_t>(each)] = static_cast<int>(facts.tables.size());
      each = each == last ? -1 : consumers[static_cast<std::size_t>(each)].front();
    }
    facts.tables.push_back({index, last, static_cast<double>(table.rows), static_cast<double>(table.columns),
                            static_cast<double>(layer.input_shapes.front().positions())});
    facts.table_parameters += facts.tables.back().parameters();
    rows += facts.tables.back().rows;
  }
  if (facts.parameters > 0) facts.rowwise_share = 1 - (facts.table_parameters - rows) / facts.parameters;
}

}  // namespace ddl
