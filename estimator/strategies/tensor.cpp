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

// Filter and channel splits in alternation [Nar21, section 2.3]: a column layer computes its share of the filters and sends
// nothing forward, everything up to its partner works on that slice, and the row layer reads the slice as its share of the
// input channels and completes its output with one Allreduce. Backward mirrors it with one Allreduce of the column's input
// gradient.
void tensor_shard(const ShardContext& context, LayerShard& shard) {
  const int parts = context.plan.mesh[Axis::tensor];
  if (parts == 1) return;
  const ModelFacts& facts = context.facts;
  const std::size_t index = context.index();
  const std::int64_t units = facts.tensor_units[index];
  const TensorSplitRole role = units >= parts ? facts.tensor_role[index] : TensorSplitRole::whole;
  const double part = units > 0 ? static_cast<double>(largest_part(units, parts)) / static_cast<double>(units) : 1.0;
  const Family axes = family_bit(Axis::tensor);
  // In the closed form every pair sums both ways; a real first layer has no input gradient to sum.
  const bool closed_form = !context.assumptions.last_layer_exchange;
  const bool sends_gradient = closed_form || facts.sends_input_gradient[index];
  const auto forward = [&](Collective operation, double items) {
    shard.exchanges.push_back({operation, items, axes, Phase::forward, Purpose::layer, 1});
  };
  const auto backward = [&](double items) {
    if (sends_gradient) shard.exchanges.push_back({Collective::allreduce, items, axes, Phase::backward, Purpose::layer, 1});
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
        for (TensorShape& input : shard.inputs) slice(input, head_part);
        shard.kept_input = shard.inputs.front();
        forward(Collective::allreduce, 2.0 * static_cast<double>(shard.inputs.front().positions()));
        shard.share /= parts;
      } else if (context.assumptions.linear_kernels) {
        shard.share /= parts;
      }
      return;
    }
    case TensorSplitRole::column:
    case TensorSplitRole::head:
      scale_halos(shard, Phase::backward, part);
      backward(static_cast<double>(shard.inputs.front().items()));
      slice(shard.output, part);
      shard.kept_output = shard.output;
      shard.weights *= part;
      shard.biases *= part;
      shard.filter_parts *= parts;
      break;
    case TensorSplitRole::inside:
      scale_halos(shard, Phase::forward, part);
      scale_halos(shard, Phase::backward, part);
      for (TensorShape& input : shard.inputs) slice(input, part);
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
      forward(Collective::allreduce, static_cast<double>(shard.output.items()));
      break;
    case TensorSplitRole::lookup:
      shard.weights *= part;
      forward(Collective::allreduce, static_cast<double>(shard.output.items()));
      break;
    case TensorSplitRole::lone: {
      const auto gathered = static_cast<double>(shard.output.items());
      scale_halos(shard, Phase::backward, part);
      backward(static_cast<double>(shard.inputs.front().items()));
      slice(shard.output, part);
      shard.weights *= part;
      shard.biases *= part;
      shard.filter_parts *= parts;
      if (!closed_form || context.layer != facts.last_matrix) forward(Collective::allgather, gathered);
      break;
    }
  }
  shard.share /= parts;
}

}  // namespace

const Strategy tensor_strategy{Axis::tensor, "filter and channel splits in alternation, one sum per pair of layers",
                               tensor_limits, tensor_shard};

}  // namespace ddl
