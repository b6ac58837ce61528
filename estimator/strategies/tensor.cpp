#include "estimator/strategies/tensor.hpp"

#include <algorithm>
#include <cmath>

namespace ddl {
namespace {

void tensor_limits(const LimitContext& context, Limits& limits) {
  if (context.plan.mesh[Axis::tensor] == 1) return;
  const ModelFacts& facts = context.facts;
  std::int64_t most = 0;
  int layer = -1;
  const auto consider = [&](int candidate) {
    const auto index = static_cast<std::size_t>(candidate);
    if (layer >= 0 && facts.tensor_units[index] >= most) return;
    most = facts.tensor_units[index];
    layer = candidate;
  };
  for (const int candidate : facts.matrix) {
    const bool lookup = facts.tensor_role[static_cast<std::size_t>(candidate)] == TensorSplitRole::lookup;
    if (!lookup && (candidate != facts.last_matrix || facts.matrix.size() == 1)) consider(candidate);
  }
  // Where tables and the last layer are all there is, they are what can be cut.
  if (layer < 0) std::for_each(facts.matrix.begin(), facts.matrix.end(), consider);
  if (context.plan.mesh[Axis::tensor] > most) {
    limits.add(
        {Limit::Kind::tensor_units, static_cast<double>(context.plan.mesh[Axis::tensor]), static_cast<double>(most), layer});
  }
}

void slice(TensorShape& shape, double part) {
  shape.channels =
      std::max<std::int64_t>(1, static_cast<std::int64_t>(std::ceil(static_cast<double>(shape.channels) * part - 1e-9)));
}

// Filter and channel splits in alternation [Nar21, section 2.3]: a column layer writes its part of an output that stays in
// parts, everything up to its partner works on that part, and the row layer reads it as its share of the input channels and
// writes a summand of an output that is whole between layers. That takes one Allreduce forward, of the row's output, and one
// backward, of the gradient of the column's input.
void tensor_shard(const ShardContext& context, LayerShard& shard) {
  const int parts = context.plan.mesh[Axis::tensor];
  if (parts == 1) return;
  const ModelFacts& facts = context.facts;
  const std::size_t index = context.index();
  const std::int64_t units = facts.tensor_units[index];
  const TensorSplitRole role = units >= parts ? facts.tensor_role[index] : TensorSplitRole::whole;
  const double part = units > 0 ? static_cast<double>(largest_part(units, parts)) / static_cast<double>(units) : 1.0;
  // In the closed form every pair sums both ways; a real first layer has no input gradient to sum.
  const bool closed_form = !context.assumptions.last_layer_exchange;
  const bool sends_gradient = closed_form || facts.sends_input_gradient[index];
  const auto input = static_cast<double>(shard.inputs.front().items());
  const auto output = static_cast<double>(shard.output.items());
  const auto lay = [&](const AxisLayout& layout, bool has_gradient) {
    set_layout(shard, Axis::tensor, layout, {input, output, has_gradient ? input : 0.0});
  };

  switch (role) {
    case TensorSplitRole::whole: {
      const auto& inputs = context.at().inputs;
      const std::int64_t head_units =
          inputs.empty() || inputs.front() < 0 ? 0 : facts.tensor_units[static_cast<std::size_t>(inputs.front())];
      const bool after_head = !inputs.empty() && inputs.front() >= 0 && context.at().operation->type() == "loss" &&
                              facts.tensor_role[static_cast<std::size_t>(inputs.front())] == TensorSplitRole::head &&
                              head_units >= parts;
      if (after_head) {
        // The loss needs the largest logit and the sum of exponentials of each position from everybody.
        const double head_part = static_cast<double>(largest_part(head_units, parts)) / static_cast<double>(head_units);
        for (TensorShape& each : shard.inputs) slice(each, head_part);
        shard.kept_input = shard.inputs.front();
        add_exchange(shard, Spread::sums, Spread::whole, 2.0 * static_cast<double>(shard.inputs.front().positions()),
                     family_bit(Axis::tensor), Phase::forward, Purpose::layer);
        lay({.input = Spread::channels, .read = Spread::channels}, false);
        shard.share /= parts;
      } else if (context.assumptions.linear_kernels) {
        shard.share /= parts;
      }
      return;
    }
    case TensorSplitRole::column:
    case TensorSplitRole::head:
      scale_halos(shard, Phase::backward, part);
      lay({.written = Spread::channels, .output = Spread::channels}, sends_gradient);
      slice(shard.output, part);
      shard.kept_output = shard.output;
      shard.weights *= part;
      shard.biases *= part;
      shard.filter_parts *= parts;
      break;
    case TensorSplitRole::inside:
      scale_halos(shard, Phase::forward, part);
      scale_halos(shard, Phase::backward, part);
      lay({Spread::channels, Spread::channels, Spread::channels, Spread::channels}, true);
      for (TensorShape& each : shard.inputs) slice(each, part);
      slice(shard.output, part);
      shard.kept_input = shard.inputs.front();
      shard.kept_output = shard.output;
      shard.weights *= part;
      shard.biases *= part;
      break;
    case TensorSplitRole::row:
      scale_halos(shard, Phase::forward, part);
      slice(shard.inputs.front(), part);
      shard.kept_input = shard.inputs.front();
      shard.weights *= part;
      shard.channel_parts *= parts;
      lay({Spread::channels, Spread::channels, Spread::sums, Spread::whole}, true);
      break;
    case TensorSplitRole::lookup:
      shard.weights *= part;
      lay({.written = Spread::sums, .output = Spread::whole}, false);
      break;
    case TensorSplitRole::lone: {
      const bool gathers = !closed_form || context.layer != facts.last_matrix;
      scale_halos(shard, Phase::backward, part);
      lay({.written = Spread::channels, .output = gathers ? Spread::whole : Spread::channels}, sends_gradient);
      slice(shard.output, part);
      shard.weights *= part;
      shard.biases *= part;
      shard.filter_parts *= parts;
      break;
    }
  }
  shard.share /= parts;
}

}  // namespace

const Strategy tensor_strategy{Axis::tensor, "filter and channel splits in alternation, one sum per pair of layers",
                               tensor_limits, tensor_shard};

}  // namespace ddl
