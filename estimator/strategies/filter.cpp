#include "estimator/strategies/filter.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <utility>

namespace ddl {
namespace {

std::int64_t filter_units(const ModelFacts& facts, int layer) {
  const auto index = static_cast<std::size_t>(layer);
  const std::int64_t units = facts.divisible[index].channel_units;
  return units > 0 ? units : facts.model->layers[index].output_shape.channels;
}

/// Returns the smallest number of filters of a divided layer, and the layer's index. The last layer is not included.
std::pair<std::int64_t, int> smallest_filters(const LimitContext& context) {
  const ModelFacts& facts = context.facts;
  if (context.has_all_layers()) return {facts.smallest_filters, facts.smallest_filters_layer};
  const std::span<const int> divided = context.divided(facts.matrix);
  std::pair<std::int64_t, int> least{0, -1};
  for (const int layer : divided) {
    if (layer == facts.last_matrix && divided.size() > 1) continue;
    if (const std::int64_t units = filter_units(facts, layer); least.second < 0 || units < least.first)
      least = {units, layer};
  }
  return least;
}

void filter_limits(const LimitContext& context, Limits& limits) {
  const int degree = context.plan.mesh[Axis::filter];
  if (degree == 1) return;
  const auto [least, layer] = smallest_filters(context);
  if (degree > least) limits.add({Limit::Kind::filters, static_cast<double>(degree), static_cast<double>(least), layer});
}

// Between layers, every rank has whole tensors. Every rank computes F/p of the filters from the whole input, and therefore a
// shard of the output. This requires an Allgather in forward, and in backward an Allreduce of the partial gradients of the
// input [ParaDL, Table III]. Layers without filters, and layers with fewer filters than ranks, are replicated.
void filter_shard(const ShardContext& context, LayerShard& shard) {
  const int parts = context.plan.mesh[Axis::filter];
  if (parts == 1) return;
  const bool splits = splits_filters(context.facts, context.layer, parts);
  if (!splits) {
    if (context.assumptions.linear_kernels) shard.share /= parts;
    return;
  }
  const std::int64_t units = filter_units(context.facts, context.layer);
  const double part = static_cast<double>(largest_part(units, parts)) / static_cast<double>(units);
  const auto gathered = static_cast<double>(shard.output.items());
  shard.output.channels = std::max<std::int64_t>(1, std::llround(static_cast<double>(shard.output.channels) * part));
  shard.weights *= part;
  shard.biases *= part;
  shard.share /= parts;
  shard.filter_parts = parts;
  scale_halos(shard, Phase::backward, part);
  const bool gathers = context.assumptions.last_layer_exchange || context.layer != context.facts.last_matrix;
  const AxisLayout layout{.written = Spread::channels, .output = gathers ? Spread::whole : Spread::channels};
  const auto input = static_cast<double>(shard.inputs.front().items());
  const bool has_gradient = context.facts.needs_input_gradient[context.index()];
  double gradient = has_gradient ? input : 0.0;
  if (!context.assumptions.last_layer_exchange) gradient = printed_gradient(context, gathered);
  set_layout(shard, Axis::filter, layout, {input, gathered, gradient});
}

}  // namespace

bool splits_filters(const ModelFacts& facts, int layer, int degree) {
  return degree > 1 && facts.divisible[static_cast<std::size_t>(layer)].matrix && filter_units(facts, layer) >= degree;
}

double printed_gradient(const ShardContext& context, double output) {
  return context.layer != context.facts.last_matrix ? output : 0.0;
}

const Strategy filter_strategy{Axis::filter, "each rank has a shard of every layer's filters; outputs are gathered",
                               filter_limits, filter_shard};

}  // namespace ddl
