#include "estimator/strategies/context.hpp"

#include <algorithm>
#include <cmath>

namespace ddl {
namespace {

void context_limits(const LimitContext& context, Limits& limits) {
  const int parts = context.plan.mesh[Axis::context];
  if (parts == 1) return;
  const std::int64_t units = context.facts.context_units;
  // In a ring with causal attention, each rank has two pieces of a sequence, one from each half, so that all ranks have the
  // same number of query-key pairs.
  if (units == 0 || units % (2 * static_cast<std::int64_t>(parts)) != 0) {
    limits.add({Limit::Kind::context, static_cast<double>(parts), static_cast<double>(units), -1});
  } else if (context.plan.context_exchange == ContextExchange::ulysses && !may_exchange_heads(context.facts, context.plan) &&
             !(context.software.repeats_keys.value_or(true) && may_divide_heads(context.facts, context.plan))) {
    limits.add({Limit::Kind::heads, static_cast<double>(parts) * context.plan.mesh[Axis::tensor],
                static_cast<double>(context.facts.attention_heads), -1});
  }
}

void cut(TensorShape& shape, int parts) {
  if (shape.sequence) shape.extent[0] = largest_part(shape.extent[0], parts);
}

/// Gives a rank one of `parts` parts of the queries. If there are fewer heads of keys than ranks, several ranks have the
/// same head of keys and values, which is repeated before it is sent [DeepSpeed, deepspeed/runtime/sequence_parallel/
/// ulysses_sp.py, kv_replication_factor].
void divide_heads(const ShardContext& context, LayerShard& shard, int parts) {
  const std::int64_t heads_of_keys = context.facts.divisible[context.index()].channel_units;
  const bool repeats = heads_of_keys > 0 && heads_of_keys < parts;
  const std::int64_t key_parts = repeats ? heads_of_keys : parts;
  TensorShape& first = shard.inputs.front();
  if (shard.inputs.size() > 1) {
    first.channels = largest_part(first.channels, parts);
    for (std::size_t i = 1; i < shard.inputs.size(); ++i)
      shard.inputs[i].channels = largest_part(shard.inputs[i].channels, key_parts);
  } else if (repeats) {
    const double items = context.at().operation->context_items(shard.inputs, shard.output);
    const std::int64_t keys = std::llround(items / static_cast<double>(first.extent[0]));
    first.channels = largest_part(first.channels - keys, parts) + largest_part(keys, key_parts);
  } else {
    first.channels = largest_part(first.channels, parts);
  }
}

// Before attention, an All-to-all gives each rank the queries, keys and values of all tokens for
// some heads. After attention, a second All-to-all gives each rank all heads of its own tokens.
// Backward exchanges gradients in the same way [Jac23, section 3].
void exchange_heads(const ShardContext& context, LayerShard& shard) {
  const int parts = context.plan.mesh[Axis::context];
  double read = 0;
  divide_heads(context, shard, parts);
  for (const TensorShape& input : shard.inputs) read += static_cast<double>(input.items());
  shard.output.channels = largest_part(shard.output.channels, parts);
  shard.kept_input = shard.inputs.front();
  shard.kept_output = shard.output;
  shard.share /= parts;
  for (const Phase phase : {Phase::forward, Phase::backward}) {
    for (const double items : {read, static_cast<double>(shard.output.items())}) {
      shard.exchanges.push_back({Collective::all_to_all, items, family_bit(Axis::context), phase, Purpose::layer});
    }
  }
}

// Every rank has a shard of the tokens of each sample. Only attention needs keys and values of other ranks. Keys and values
// are passed round in a ring, to the next rank in each of p−1 rounds, while each rank computes with the shard that it
// currently has [Liu et al., Ring attention with blockwise transformers, ICLR 2024]. In backward, keys and values are passed
// round again, together with their gradients, to which every rank adds.
void context_shard(const ShardContext& context, LayerShard& shard) {
  const int parts = context.plan.mesh[Axis::context];
  if (parts == 1) return;
  const Layer& layer = context.at();
  if (context.plan.context_exchange == ContextExchange::ulysses && layer.operation->is_attention())
    return exchange_heads(context, shard);
  if (auto operation = layer.operation->in_contexts(parts)) shard.operation = std::move(operation);
  for (TensorShape& input : shard.inputs) cut(input, parts);
  cut(shard.output, parts);
  shard.kept_input = shard.inputs.front();
  shard.kept_output = shard.output;
  shard.share /= parts;
  const double items = layer.operation->context_items(shard.inputs, shard.output);
  if (items <= 0) return;
  const auto pass_on = [&](Phase phase, double sent) {
    Exchange exchange{Collective::point_to_point, sent, family_bit(Axis::context), phase, Purpose::layer, parts - 1};
    exchange.next_to_kernels = true;
    shard.exchanges.push_back(exchange);
  };
  pass_on(Phase::forward, items);
  pass_on(Phase::backward, 2 * items);
}

}  // namespace

bool may_exchange_heads(const ModelFacts& facts, const Plan& plan) {
  const std::int64_t parts = static_cast<std::int64_t>(plan.mesh[Axis::context]) * plan.mesh[Axis::tensor];
  return facts.attention_heads > 0 && facts.attention_heads % parts == 0;
}

bool may_divide_heads(const ModelFacts& facts, const Plan& plan) {
  if (may_exchange_heads(facts, plan)) return true;
  const std::int64_t parts = plan.mesh[Axis::context];
  if (plan.mesh[Axis::tensor] > 1 || facts.attention_heads < 1 || parts % facts.attention_heads != 0) return false;
  const auto& layers = facts.model->layers;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    if (!layers[i].operation->is_attention()) continue;
    const std::int64_t keys = facts.divisible[i].channel_units;
    const std::int64_t queries = layers[i].operation->attribute_values().integer("heads", 0);
    const bool is_whole = keys > 0 && (keys % parts == 0 || parts % keys == 0);
    if (!is_whole || queries < 1 || queries % parts != 0) return false;
  }
  return true;
}

const Strategy context_strategy{Axis::context, "each rank has a shard of the tokens; attention exchanges keys and values",
                                context_limits, context_shard};

}  // namespace ddl
