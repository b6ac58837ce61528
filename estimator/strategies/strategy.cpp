#include "estimator/strategies/strategy.hpp"

#include <array>

#include "estimator/strategies/channel.hpp"
#include "estimator/strategies/context.hpp"
#include "estimator/strategies/data.hpp"
#include "estimator/strategies/embedding_tables.hpp"
#include "estimator/strategies/expert.hpp"
#include "estimator/strategies/filter.hpp"
#include "estimator/strategies/pipeline.hpp"
#include "estimator/strategies/relayout.hpp"
#include "estimator/strategies/spatial.hpp"
#include "estimator/strategies/tensor.hpp"

namespace ddl {
namespace {

// Spatial comes first, so that other strategies exchange tiles, not whole tensors. Data comes last,
// because it sums the gradients of the shards of all other strategies. Expert comes after tensor,
// because experts process the tokens that remain after a tensor split.
constexpr std::array<const Strategy*, axis_count> table{&spatial_strategy,  &context_strategy, &channel_strategy,
                                                        &filter_strategy,   &tensor_strategy,  &expert_strategy,
                                                        &pipeline_strategy, &data_strategy};

}  // namespace

std::span<const Strategy* const> strategies() { return table; }

void shard_layer(const ShardContext& context, LayerShard& shard) {
  const Layer& layer = context.at();
  shard.inputs = layer.input_shapes;
  shard.output = layer.output_shape;
  shard.kept_input = layer.input_shapes.front();
  shard.kept_output = layer.output_shape;
  shard.weights = static_cast<double>(layer.weights);
  shard.biases = static_cast<double>(layer.biases);
  shard.trained_share = trained_share(layer);
  shard.samples = samples_per_micro_batch(context.plan);
  shard.share = 1;
  shard.filter_parts = 1;
  shard.channel_parts = 1;
  shard.batches = shard.held = 1;
  shard.touched = shard.exchanged = std::nullopt;
  shard.layouts.fill({});
  shard.exchanges.clear();
  shard.replicas = replica_axes;
  shard.operation = nullptr;
  for (const Strategy* strategy : table) {
    // Distributed tables are on the ranks of the data axis, which therefore do not sum the tables' gradients.
    if (strategy->axis == Axis::data) shard_tables(context, shard);
    strategy->shard(context, shard);
  }
  if (context.borders != nullptr) lay_out_anew(context, *context.borders, shard);
}

void scale_halos(LayerShard& shard, Phase phase, double part) {
  for (Exchange& exchange : shard.exchanges) {
    const bool is_of_neighbours = exchange.operation == Collective::point_to_point && exchange.purpose != Purpose::pipeline;
    if (is_of_neighbours && exchange.phase == phase) exchange.items *= part;
  }
}

Limits limits_of(const LimitContext& context) {
  Limits limits;
  for (const Strategy* strategy : table) strategy->limits(context, limits);
  table_limits(context, limits);
  return limits;
}

}  // namespace ddl
