#include "estimator/facts/preconditioners.hpp"

#include <algorithm>
#include <cmath>

namespace ddl {

std::optional<WeightMatrices> preconditioned_weights(const ModelFacts& facts, std::size_t layer) {
  const Layer& at = facts.model->layers[layer];
  const std::string_view type = at.operation->type();
  if (type != "fully_connected" && type != "convolution") return std::nullopt;
  if (at.weights == 0 || at.trained() == 0 || facts.tensor_role[layer] == TensorSplitRole::head) return std::nullopt;
  const auto count = static_cast<double>(std::max<std::int64_t>(1, at.operation->experts()));
  const auto rows = static_cast<double>(at.output_shape.channels);
  return WeightMatrices{rows, static_cast<double>(at.weights) / count / rows, count};
}

PreconditionerSides preconditioner_sides(Optimizer optimizer, const WeightMatrices& weights) {
  constexpr double largest_of_soap = 10000, largest_block = 8192;
  PreconditionerSides sides{weights.rows, weights.columns, 1};
  if (optimizer == Optimizer::soap) {
    if (sides.rows > largest_of_soap) sides.rows = 0;
    if (sides.columns > largest_of_soap) sides.columns = 0;
  }
  if (optimizer == Optimizer::shampoo) {
    const double along_rows = std::ceil(sides.rows / largest_block),
                 along_columns = std::ceil(sides.columns / largest_block);
    sides = {sides.rows / along_rows, sides.columns / along_columns, along_rows * along_columns};
  }
  return sides;
}

double preconditioner_items(Optimizer optimizer, const WeightMatrices& weights) {
  if (!is_preconditioned(optimizer)) return 0;
  const PreconditionerSides sides = preconditioner_sides(optimizer, weights);
  const double squares = 2 * (sides.rows * sides.rows + sides.columns * sides.columns) * sides.blocks;
  return (squares + (optimizer == Optimizer::kfac ? weights.rows * weights.columns : 0)) * weights.count;
}

ProjectedState projected_state(const ModelFacts& facts, double rank) {
  ProjectedState state;
  for (const ModelFacts::Matrices& each : facts.block_matrices) {
    const double shorter = std::min(each.rows, each.columns), longer = std::max(each.rows, each.columns);
    const double items = shorter * longer, of_rank = std::min(rank, shorter);
    state.parameters += items * each.count;
    state.moments += 2 * of_rank * longer * each.count;
    state.projectors += of_rank * shorter * each.count;
    state.decomposition = std::max(state.decomposition, 2 * items + (shorter + longer) * shorter);
    state.largest = std::max(state.largest, items);
  }
  return state;
}

void count_preconditioners(const Model& model, ModelFacts& facts) {
  if (facts.trained_parameters <= 0) return;
  for (std::size_t i = 0; i < model.layers.size(); ++i) {
    const std::optional<WeightMatrices> weights = preconditioned_weights(facts, i);
    if (!weights) continue;
    facts.kfac_items += preconditioner_items(Optimizer::kfac, *weights) / facts.trained_parameters;
    facts.shampoo_items += preconditioner_items(Optimizer::shampoo, *weights) / facts.trained_parameters;
    facts.soap_items += preconditioner_items(Optimizer::soap, *weights) / facts.trained_parameters;
  }
}

}  // namespace ddl
