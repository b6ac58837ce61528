#include "estimator/layers/token_pieces.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "estimator/facts/token_order.hpp"

namespace ddl {

double token_pieces(const ModelFacts& facts, const Plan& plan, const Assumptions& assumptions) {
  if (assumptions.token_pieces <= 1 || plan.mesh[Axis::pipeline] == 1 || assumptions.slot_pipeline) return 1;
  return std::max(1.0, std::min(assumptions.token_pieces, shortest_sequence(facts)));
}

bool runs_in_pieces(const ModelFacts& facts, int layer) {
  const std::vector<int>& inputs = facts.model->layers[static_cast<std::size_t>(layer)].inputs;
  const bool reads_sample = std::all_of(inputs.begin(), inputs.end(), [&](int producer) {
    return producer < 0 || facts.of_sample[static_cast<std::size_t>(producer)];
  });
  return !reads_sample && token_order(facts, layer) != TokenOrder::at_once;
}

TokenPiece piece_of(const ShardContext& context, const LayerShard& shard, double pieces) {
  TokenPiece piece{shard, 1};
  const Operation& operation = *context.operation(shard);
  if (operation.is_attention() || operation.in_contexts(2) != nullptr || operation.contexts() > 1) return piece;
  const auto all = static_cast<double>(
      std::max<std::int64_t>(1, shard.inputs.empty() ? shard.output.extent[0] : shard.inputs.front().extent[0]));
  const auto shorten = [&](TensorShape& shape) {
    if (shape.sequence)
      shape.extent[0] = static_cast<std::int64_t>(std::ceil(static_cast<double>(shape.extent[0]) / pieces));
  };
  for (TensorShape& input : piece.shard.inputs) shorten(input);
  shorten(piece.shard.output);
  shorten(piece.shard.kept_input);
  shorten(piece.shard.kept_output);
  piece.count = all / std::ceil(all / pieces);
  return piece;
}

std::vector<StagePart> parts_of_stage(const std::vector<int>& waves, int first, int last) {
  if (waves.empty()) return {{first, last, 0}};
  std::vector<StagePart> parts;
  for (int layer = first; layer < last; ++layer) {
    const int wave = waves[static_cast<std::size_t>(layer)];
    if (parts.empty() || parts.back().wave != wave) parts.push_back({layer, layer, wave});
    parts.back().last = layer + 1;
  }
  return parts;
}

}  // namespace ddl
