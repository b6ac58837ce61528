#include "estimator/strategies/channel.hpp"

#include <span>
#include <utility>

#include "estimator/strategies/filter.hpp"

namespace ddl {
namespace {

/// The smallest number of input channels of the divided layers, without the first layer of the model, and its layer.
std::pair<std::int64_t, int> smallest_channels(const LimitContext& context) {
  const ModelFacts& facts = context.facts;
  if (context.has_all_layers()) return {facts.smallest_channels, facts.smallest_channels_layer};
  const std::span<const int> divided = context.divided(facts.matrix);
  std::pair<std::int64_t, int> least{0, -1};
  for (const int layer : divided) {
    const Layer& at = facts.model->layers[static_cast<std::size_t>(layer)];
    if ((layer == facts.first_matrix && divided.size() > 1) || at.operation->type() == "embedding") continue;
    const std::int64_t units = facts.divisible[static_cast<std::size_t>(layer)].channel_units;
    const std::int64_t channels = units > 0 ? units : at.input_shapes.front().channels;
    if (least.second < 0 || channels < least.first) least = {channels, layer};
  }
  return least;
}

void channel_limits(const LimitContext& context, Limits& limits) {
  const int degree = context.plan.mesh[Axis::channel];
  if (degree == 1) return;
  const auto [least, layer] = smallest_channels(context);
  if (degree > least) limits.add({Limit::Kind::channels, static_cast<double>(degree), static_cast<double>(least), layer});
}

bool splits_channels(const ShardContext& context, const LayerShard& shard) {
  const Divisible& divisible = context.facts.divisible[context.index()];
  // In grouped layers, an output reads only the channels of its group, so a channel split is a
  // filter split. Embedding tables are looked up, not multiplied.
  return divisible.matrix && divisible.channel_units == 0 && context.at().operation->type() != "embedding" &&
         shard.inputs.front().channels >= context.plan.mesh[Axis::channel];
}

// Between layers, every rank has whole tensors. Every rank reads C/p of the channels of a layer's input, and writes a
// partial sum of the output. This requires an Allreduce in forward, and in backward an Allgather of the shards of the
// input's gradient [ParaDL, Table III]. The first layer is replicated if it has too few channels.
void channel_shard(const ShardContext& context, LayerShard& shard) {
  const int parts = context.plan.mesh[Axis::channel];
  if (parts == 1) return;
  if (!splits_channels(context, shard)) {
    if (context.assumptions.linear_kernels) shard.share /= parts;
    return;
  }
  const std::int64_t channels = shard.inputs.front().channels;
  const auto whole_input = static_cast<double>(shard.inputs.front().items());
  const double part = static_cast<double>(largest_part(channels, parts)) / static_cast<double>(channels);
  shard.inputs.front().channels = largest_part(channels, parts);
  shard.weights *= part;
  shard.share /= parts;
  shard.channel_parts = parts;
  scale_halos(shard, Phase::forward, part);
  const int filters =
      splits_filters(context.facts, context.layer, context.plan.mesh[Axis::filter]) ? context.plan.mesh[Axis::filter] : 1;
  const bool sums = context.assumptions.last_layer_exchange || context.layer != context.facts.last_matrix;
  const AxisLayout layout{.read = Spread::channels, .written = Spread::sums, .output = sums ? Spread::whole : Spread::sums};
  const bool has_gradient = context.facts.needs_input_gradient[context.index()];
  const double output = static_cast<double>(shard.output.items()) / filters;
  double gradient = has_gradient ? whole_input : 0.0;
  if (!context.assumptions.last_layer_exchange) gradient = printed_gradient(context, output);
  set_layout(shard, Axis::channel, layout, {whole_input, output, gradient});
}

}  // namespace

const Strategy channel_strategy{Axis::channel,
                                "each rank has a shard of every layer's input channels; partial outputs are summed",
                                channel_limits, channel_shard};

}  // namespace ddl
