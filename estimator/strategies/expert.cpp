#include "estimator/strategies/expert.hpp"

#include <algorithm>

#include "estimator/strategies/tensor.hpp"
#include "model_zoo/values/precision.hpp"

namespace ddl {
namespace {

void expert_limits(const LimitContext& context, Limits& limits) {
  if (context.plan.whole_experts && context.plan.mesh[Axis::tensor] > 1 && !supports_etp1(context.facts, context.plan)) {
    const double ranks = context.plan.sequence_parallel ? static_cast<double>(expert_parts(context.plan)) : 0.0;
    limits.add({Limit::Kind::whole_experts, ranks, static_cast<double>(context.facts.experts), -1});
  }
  const int parts = context.plan.mesh[Axis::expert];
  if (parts == 1) return;
  const std::int64_t experts = context.facts.experts;
  if (experts == 0 || experts % parts != 0) {
    limits.add({Limit::Kind::experts, static_cast<double>(parts), static_cast<double>(experts), -1});
  }
}

/// Returns whether a layer dispatches tokens to experts, or combines the outputs of experts.
bool reads_experts(const ShardContext& context) {
  const std::vector<int>& inputs = context.at().inputs;
  return context.at().operation->type() == "combine" && !inputs.empty();
}

// Ranks process different samples, like replicas. They hold replicas of all weights except the weights of experts, which are
// distributed over the ranks. Each token is sent to the ranks of its experts, and the outputs are sent back. This requires
// an All-to-all of all copies of the tokens before the experts, and another one after the experts. Backward needs two
// All-to-alls for gradients [Lepikhin et al., GShard, ICLR 2021; Rajbhandari et al., DeepSpeed-MoE, ICML 2022]. All experts
// are assumed to be equally popular.
void expert_shard(const ShardContext& context, LayerShard& shard) {
  const std::int64_t parts = expert_parts(context.plan);
  if (parts == 1) return;
  const bool distributes = context.plan.whole_experts && context.plan.mesh[Axis::tensor] > 1;
  const Family axes = family_bit(Axis::expert) | (distributes ? family_bit(Axis::tensor) : 0U);
  // `narrow`: the phase whose exchange goes to the experts.
  const auto trade = [&](const TensorShape& copies, const TensorShape& tokens, Phase narrow) {
    const auto items = static_cast<double>(copies.items());
    for (const Phase phase : {Phase::forward, Phase::backward}) {
      // An element of 8 bits counts as a fraction of an element in the plan's precision.
      constexpr double narrow_bytes = 1 + 4.0 / 128;
      const bool is_narrow = phase == narrow && context.assumptions.fp8_dispatch;
      const double size = is_narrow ? std::min(1.0, narrow_bytes / item_bytes(context.plan.precision)) : 1.0;
      shard.exchanges.push_back({.operation = Collective::all_to_all,
                                 .items = items * size,
                                 .axes = axes,
                                 .phase = phase,
                                 .purpose = Purpose::layer,
                                 .copies = items / static_cast<double>(tokens.items())});
    }
  };
  const Operation& operation = *context.operation(shard);
  if (operation.type() == "dispatch") return trade(shard.output, shard.inputs.front(), Phase::forward);
  if (reads_experts(context)) return trade(shard.inputs.front(), shard.output, Phase::backward);
  const std::int64_t experts = operation.experts();
  if (experts <= 1) return;
  shard.operation = operation.with_experts(largest_part(experts, parts));
  shard.weights /= static_cast<double>(parts);
  shard.biases /= static_cast<double>(parts);
  shard.replicas &= ~axes;
}

}  // namespace

std::int64_t expert_parts(const Plan& plan) {
  return static_cast<std::int64_t>(plan.mesh[Axis::expert]) * (plan.whole_experts ? plan.mesh[Axis::tensor] : 1);
}

bool supports_etp1(const ModelFacts& facts, const Plan& plan) {
  const std::int64_t parts = static_cast<std::int64_t>(plan.mesh[Axis::expert]) * plan.mesh[Axis::tensor];
  return facts.experts > 0 && facts.experts % parts == 0 && plan.sequence_parallel && may_split_tokens(facts, plan);
}

const Strategy expert_strategy{Axis::expert, "each rank has its own samples and a shard of the experts", expert_limits,
                               expert_shard};

}  // namespace ddl
