#include "estimator/strategies/layout.hpp"

#include "estimator/strategies/strategy.hpp"

namespace ddl {
namespace {

Spread gradient_of(Spread tensor) { return tensor == Spread::parts ? Spread::parts : Spread::whole; }

}  // namespace

std::optional<Collective> difference(Spread from, Spread to) {
  // Who has all of a tensor has each part of it, and takes it without an exchange.
  if (from == to || from == Spread::whole || to == Spread::sums) return std::nullopt;
  if (from == Spread::parts) return Collective::allgather;
  return to == Spread::whole ? Collective::allreduce : Collective::reduce_scatter;
}

void add_exchange(LayerShard& shard, Spread from, Spread to, double items, Family axes, Phase phase, Purpose purpose) {
  const std::optional<Collective> operation = difference(from, to);
  if (operation && items > 0) shard.exchanges.push_back({*operation, items, axes, phase, purpose, 1});
}

void set_layout(LayerShard& shard, Axis axis, const AxisLayout& layout, const LayerTensors& tensors) {
  shard.layouts[static_cast<std::size_t>(axis)] = layout;
  const auto add = [&](Spread from, Spread to, double items, Phase phase) {
    add_exchange(shard, from, to, items, family_bit(axis), phase, Purpose::layer);
  };
  add(layout.input, layout.read, tensors.input, Phase::forward);
  add(layout.written, layout.output, tensors.output, Phase::forward);
  add(gradient_of(layout.output), gradient_of(layout.written), tensors.output, Phase::backward);
  const bool is_summand = layout.read == Spread::whole && layout.is_split();
  add(is_summand ? Spread::sums : gradient_of(layout.read), gradient_of(layout.input), tensors.input_gradient,
      Phase::backward);
}

}  // namespace ddl
