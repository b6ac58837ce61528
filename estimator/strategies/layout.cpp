#include "estimator/strategies/layout.hpp"

#include "estimator/strategies/strategy.hpp"

namespace ddl {
namespace {

bool is_part(Spread spread) { return spread == Spread::channels || spread == Spread::positions; }

Spread gradient_of(Spread tensor) { return is_part(tensor) ? tensor : Spread::whole; }

}  // namespace

std::optional<Collective> difference(Spread from, Spread to) {
  // A rank with the whole tensor already has every part of it, and needs no exchange.
  if (from == to || from == Spread::whole || to == Spread::sums) return std::nullopt;
  if (is_part(from)) return to == Spread::whole ? Collective::allgather : Collective::all_to_all;
  return to == Spread::whole ? Collective::allreduce : Collective::reduce_scatter;
}

void add_exchange(LayerShard& shard, Spread from, Spread to, double items, Family axes, Phase phase, Purpose purpose,
                  Subject subject) {
  const std::optional<Collective> operation = difference(from, to);
  if (operation && items > 0) shard.exchanges.push_back({*operation, items, axes, phase, purpose, 1, subject});
}

void set_layout(LayerShard& shard, Axis axis, const AxisLayout& layout, const LayerTensors& tensors) {
  shard.layouts[static_cast<std::size_t>(axis)] = layout;
  const auto add = [&](Spread from, Spread to, double items, Phase phase, Subject subject) {
    add_exchange(shard, from, to, items, family_bit(axis), phase, Purpose::layer, subject);
  };
  add(layout.input, layout.read, tensors.input, Phase::forward, Subject::input);
  add(layout.written, layout.output, tensors.output, Phase::forward, Subject::output);
  add(gradient_of(layout.output), gradient_of(layout.written), tensors.output, Phase::backward, Subject::output);
  const bool is_summand = layout.read == Spread::whole && layout.is_split();
  add(is_summand ? Spread::sums : gradient_of(layout.read), gradient_of(layout.input), tensors.input_gradient,
      Phase::backward, Subject::input);
}

}  // namespace ddl
