#include "estimator/strategies/pipeline.hpp"

namespace ddl {
namespace {

void layer_limits(const LimitContext& context, Limits& limits) {
  const auto layers = static_cast<double>(context.facts.weighted.size());
  if (context.plan.mesh[Axis::pipeline] > layers && context.plan.mesh[Axis::pipeline] > 1) {
    limits.add({Limit::Kind::stages, static_cast<double>(context.plan.mesh[Axis::pipeline]), layers, -1});
  }
}

// A stage computes its layers whole. The tensors live at a cut travel to the next stage in forward and their gradients back;
// which cut that is depends on the balance of the stages, so every layer says what a cut before it would send.
void layer_shard(const ShardContext& context, LayerShard& shard) {
  if (context.plan.mesh[Axis::pipeline] == 1 || context.layer == 0) return;
  double items = context.facts.live_items[context.index()];
  if (context.layer <= context.spatial_end) items /= context.plan.mesh[Axis::spatial];
  for (const Phase phase : {Phase::forward, Phase::backward}) {
    shard.exchanges.push_back({Collective::point_to_point, items, family_bit(Axis::pipeline), phase, Purpose::pipeline, 1});
  }
}

}  // namespace

const Strategy pipeline_strategy{Axis::pipeline, "the layers are dealt to stages that work on micro-batches in a pipeline",
                                 layer_limits, layer_shard};

}  // namespace ddl
