#include "estimator/strategies/tensor.hpp"

#include <algorithm>
#include <cmath>
#include <span>

namespace ddl {
namespace {

void tensor_limits(const LimitContext& context, Limits& limits) {
  if (context.plan.mesh[Axis::tensor] == 1) return;
  if (context.plan.sequence_parallel && !may_split_tokens(context.facts, context.plan)) {
    limits.add({Limit::Kind::tokens, static_cast<double>(context.plan.mesh[Axis::tensor]),
                static_cast<double>(context.facts.token_units), -1});
  }
  const ModelFacts& facts = context.facts;
  const int layer =
      context.has_all_layers() ? facts.fewest_units_layer : layer_of_fewest_units(facts, context.divided(facts.matrix));
  const std::int64_t most = layer < 0 ? 0 : facts.tensor_units[static_cast<std::size_t>(layer)];
  if (context.plan.mesh[Axis::tensor] > most) {
    limits.add(
        {Limit::Kind::tensor_units, static_cast<double>(context.plan.mesh[Axis::tensor]), static_cast<double>(most), layer});
  }
}

void slice(TensorShape& shape, double part) {
  shape.channels =
      std::max<std::int64_t>(1, static_cast<std::int64_t>(std::ceil(static_cast<double>(shape.channels) * part - 1e-9)));
}

void slice_tokens(TensorShape& shape, int parts) {
  if (shape.sequence) shape.extent[0] = largest_part(shape.extent[0], parts);
}

/// Shards a layer that a tensor split leaves whole. Every rank computes all of the layer or, with sequence parallelism, only
/// its own tokens [Kort22, section 4.2.2]. A layer that is not token-wise gathers tensors that are sharded by tokens.
void whole_layer(const ShardContext& context, LayerShard& shard, bool reads_parts, bool writes_parts) {
  const int parts = context.plan.mesh[Axis::tensor];
  const ModelFacts& facts = context.facts;
  const Layer& layer = context.at();
  constexpr Family axes = family_bit(Axis::tensor);
  const LayerTensors tensors{static_cast<double>(shard.inputs.front().items()), static_cast<double>(shard.output.items()),
                             0.0};
  const bool is_tokenwise = facts.divisible[context.index()].tokens &&
                            facts.tensor_role[context.index()] == TensorSplitRole::whole && writes_parts;
  if (is_tokenwise) {
    // Each rank sums the gradients of its tokens.
    add_exchange(shard, Spread::sums, Spread::whole, shard.trained(), axes, Phase::gradient, Purpose::gradient);
    set_layout(shard, Axis::tensor, {Spread::positions, Spread::positions, Spread::positions, Spread::positions}, tensors);
    for (TensorShape& each : shard.inputs) slice_tokens(each, parts);
    slice_tokens(shard.output, parts);
    shard.kept_input = shard.inputs.front();
    shard.kept_output = shard.output;
    shard.share /= parts;
    return;
  }
  set_layout(
      shard, Axis::tensor,
      {.input = reads_parts ? Spread::positions : Spread::whole, .output = writes_parts ? Spread::positions : Spread::whole},
      tensors);
  for (std::size_t i = 1; i < layer.inputs.size(); ++i) {
    const int input = layer.inputs[i];
    if (input < 0 || !context.plan.sequence_parallel || !facts.token_split[static_cast<std::size_t>(input)]) continue;
    add_exchange(shard, Spread::positions, Spread::whole, static_cast<double>(shard.inputs[i].items()), axes, Phase::forward,
                 Purpose::layer);
  }
  if (reads_parts) slice_tokens(shard.kept_input, parts);
  if (writes_parts) slice_tokens(shard.kept_output, parts);
}

// Filter and channel splits alternate [Nar21, section 2.3]. A column layer writes a shard of its output, which stays
// sharded. All layers up to the paired row layer work on that shard. The row layer reads the shard as its input channels,
// and writes a partial sum of its output. An Allreduce in forward sums the row's output, and an Allreduce in backward sums
// the gradient of the column's input.
//
// With sequence parallelism, tensors that would otherwise be whole between layers are sharded by tokens: a Reduce-scatter
// and an Allgather replace each Allreduce. Backward also gathers the column's input, because a rank keeps only its shard of
// this input, but the gradient of the weights needs all of it. This Allgather overlaps with the gradient of the input
// [Kort22, section 4.2.2].
void tensor_shard(const ShardContext& context, LayerShard& shard) {
  const int parts = context.plan.mesh[Axis::tensor];
  if (parts == 1) return;
  const ModelFacts& facts = context.facts;
  const std::size_t index = context.index();
  const std::int64_t units = facts.tensor_units[index];
  const TensorSplitRole role = units >= parts ? facts.tensor_role[index] : TensorSplitRole::whole;
  const double part = units > 0 ? static_cast<double>(largest_part(units, parts)) / static_cast<double>(units) : 1.0;
  // In the closed form, every pair of layers sums in forward and backward. In reality, the first
  // layer has no input gradient to sum.
  const bool closed_form = !context.assumptions.last_layer_exchange;
  const bool sends_gradient = closed_form || facts.sends_input_gradient[index];
  // If several column layers read one tensor, only the first column layer gathers the tensor.
  const bool gathers_input = sends_gradient || !facts.needs_input_gradient[index];
  const auto lies_in_parts = [&](int tensor) {
    return context.plan.sequence_parallel && tensor >= 0 && facts.token_split[static_cast<std::size_t>(tensor)];
  };
  const bool writes_parts = lies_in_parts(context.layer);
  const std::vector<int>& layer_inputs = context.at().inputs;
  const bool reads_parts = !layer_inputs.empty() && lies_in_parts(layer_inputs.front());
  const Spread before = reads_parts ? Spread::positions : Spread::whole;
  const Spread behind = writes_parts ? Spread::positions : Spread::whole;
  const auto input = static_cast<double>(shard.inputs.front().items());
  const auto output = static_cast<double>(shard.output.items());
  const auto lay = [&](const AxisLayout& layout, bool has_gradient) {
    set_layout(shard, Axis::tensor, layout, {gathers_input ? input : 0.0, output, has_gradient ? input : 0.0});
  };
  const auto gather_again = [&] {
    // A rank that keeps the gathered tensor needs no second Allgather, and keeps no shard.
    if (!reads_parts || context.assumptions.keeps_gathered) return;
    if (gathers_input) {
      add_exchange(shard, Spread::positions, Spread::whole, input, family_bit(Axis::tensor), Phase::backward, Purpose::layer,
                   Subject::input);
      shard.exchanges.back().next_to_kernels = true;
    }
    slice_tokens(shard.kept_input, parts);
  };

  if (context.plan.whole_experts && facts.in_experts[index]) {
    // Each rank has its own tokens, and its own unsplit experts.
    for (TensorShape& each : shard.inputs) slice_tokens(each, parts);
    slice_tokens(shard.output, parts);
    shard.kept_input = shard.inputs.front();
    shard.kept_output = shard.output;
    shard.share /= parts;
    return;
  }
  switch (role) {
    case TensorSplitRole::whole: {
      const std::vector<int>& inputs = layer_inputs;
      const std::int64_t head_units =
          inputs.empty() || inputs.front() < 0 ? 0 : facts.tensor_units[static_cast<std::size_t>(inputs.front())];
      const bool after_head = !inputs.empty() && inputs.front() >= 0 && context.at().operation->type() == "loss" &&
                              facts.tensor_role[static_cast<std::size_t>(inputs.front())] == TensorSplitRole::head &&
                              head_units >= parts;
      if (after_head) {
        // The loss needs the largest logit and the sum of exponentials of each position from all ranks.
        const double head_part = static_cast<double>(largest_part(head_units, parts)) / static_cast<double>(head_units);
        for (TensorShape& each : shard.inputs) slice(each, head_part);
        shard.kept_input = shard.inputs.front();
        add_exchange(shard, Spread::sums, Spread::whole, 2.0 * static_cast<double>(shard.inputs.front().positions()),
                     family_bit(Axis::tensor), Phase::forward, Purpose::layer);
        lay({.input = Spread::channels, .read = Spread::channels}, false);
        shard.share /= parts;
      } else if (context.assumptions.linear_kernels) {
        shard.share /= parts;
      } else {
        whole_layer(context, shard, reads_parts, writes_parts);
      }
      return;
    }
    case TensorSplitRole::column:
    case TensorSplitRole::head:
      scale_halos(shard, Phase::backward, part);
      lay({.input = before, .written = Spread::channels, .output = Spread::channels}, sends_gradient);
      gather_again();
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
      lay({Spread::channels, Spread::channels, Spread::sums, behind}, true);
      if (writes_parts) slice_tokens(shard.kept_output, parts);
      break;
    case TensorSplitRole::lookup:
      shard.weights *= part;
      lay({.written = Spread::sums, .output = behind}, false);
      if (writes_parts) slice_tokens(shard.kept_output, parts);
      break;
    case TensorSplitRole::lone: {
      const bool gathers = !closed_form || context.layer != facts.last_matrix;
      scale_halos(shard, Phase::backward, part);
      lay({.input = before, .written = Spread::channels, .output = gathers ? Spread::whole : Spread::channels},
          sends_gradient);
      gather_again();
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

bool may_split_tokens(const ModelFacts& facts, const Plan& plan) {
  const std::int64_t parts = static_cast<std::int64_t>(plan.mesh[Axis::tensor]) * plan.mesh[Axis::context];
  return facts.token_units > 0 && facts.token_units % parts == 0;
}

const Strategy tensor_strategy{Axis::tensor, "alternating filter and channel splits, with one allreduce per pair of layers",
                               tensor_limits, tensor_shard};

}  // namespace ddl
