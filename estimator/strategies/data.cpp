#include "estimator/strategies/data.hpp"

#include <cmath>

#include "estimator/exchanges/compression.hpp"
#include "model_zoo/network/optimizer.hpp"

namespace ddl {
namespace {

bool are_sparse(const Assumptions& assumptions, const ModelFacts& facts) {
  return assumptions.sparse_gradients && facts.lookup_parameters > 0;
}

/// Projections need the whole gradient of a matrix, and state of stages and shards is not counted matrix by matrix. An
/// update in backward needs the gradient of the whole batch [meta-pytorch/torchtune, recipes/full_finetune_single_device.py,
/// optimizer_in_bwd; hiyouga/LLaMA-Factory, src/llamafactory/hparams/parser.py; huggingface/transformers, trainer.py].
void add_gradient_limits(const Plan& plan, const Assumptions& assumptions, Limits& limits) {
  const auto micro_batches = static_cast<double>(plan.micro_batches), replicas = static_cast<double>(plan.mesh.replicas());
  const auto stages = static_cast<double>(plan.mesh[Axis::pipeline]);
  const bool is_whole = static_cast<double>(plan.mesh.devices()) == replicas;
  if (is_projected(plan.optimizer) && (!is_whole || (plan.zero_stage > 0 && replicas > 1)))
    limits.add({.kind = Limit::Kind::whole_gradients, .wanted = static_cast<double>(plan.zero_stage)});
  if (!assumptions.updates_in_backward) return;
  if (micro_batches > 1 || stages > 1)
    limits.add({.kind = Limit::Kind::whole_gradients, .wanted = micro_batches, .available = stages, .item = "updates"});
  if (is_projected(plan.optimizer) && replicas > 1)
    limits.add({.kind = Limit::Kind::whole_gradients, .wanted = 1, .available = 1, .item = "updates"});
}

void data_limits(const LimitContext& context, Limits& limits) {
  const Plan& plan = context.plan;
  const auto wanted = static_cast<double>(plan.mesh.batch_parts());
  const auto batch = static_cast<double>(plan.global_batch);
  if (wanted > batch) {
    limits.add({Limit::Kind::batch, wanted, batch, -1});
  } else if (const double largest = std::ceil(batch / wanted); static_cast<double>(plan.micro_batches) > largest) {
    limits.add({Limit::Kind::schedule, static_cast<double>(plan.micro_batches), largest, -1});
  }
  const double data = plan.mesh[Axis::data];
  if (plan.shard_group > 0 && std::fmod(data, plan.shard_group) != 0)
    limits.add({Limit::Kind::shard_group, static_cast<double>(plan.shard_group), data, -1});
  const double second = plan.secondary_shards;
  if (second > 1 && (!plan.may_have_second_copy() || std::fmod(data, second) != 0))
    limits.add({Limit::Kind::secondary_shards, second, plan.may_have_second_copy() ? data : 0, -1});
  if (context.assumptions == nullptr) return;
  const Assumptions& assumptions = *context.assumptions;
  if (assumptions.local_steps > 1 && plan.mesh.replicas() > 1 && !has_local_steps(plan, assumptions))
    limits.add({Limit::Kind::local_steps, assumptions.local_steps, data, -1});
  add_gradient_limits(plan, assumptions, limits);
  const bool is_whole = plan.zero_stage == 0 && !holds_parts_of_tables(plan) && plan.mesh.replicas() == data;
  if (assumptions.synchronization != Synchronization::sync && plan.mesh.replicas() > 1 && !is_whole)
    limits.add({Limit::Kind::synchronization, static_cast<double>(plan.zero_stage), data, -1});
  const bool is_sharded = plan.zero_stage > 0 && plan.mesh.replicas() > 1;
  // A ring reduces, scatters and gathers, as ZeRO does.
  const bool is_whole_vector = assumptions.allreduce && assumptions.allreduce != AllreduceAlgorithm::ring;
  if (is_sharded && is_whole_vector) limits.add({Limit::Kind::allreduce, static_cast<double>(plan.zero_stage), 0, -1});
  if (is_sharded && are_sparse(assumptions, context.facts))
    limits.add({Limit::Kind::compression, static_cast<double>(plan.zero_stage), 1, -1});
  if (is_sharded && !may_scatter(assumptions.compression))
    limits.add({Limit::Kind::compression, static_cast<double>(plan.zero_stage), 0, -1});
}

// The batch is divided before any layer is sharded (samples_per_micro_batch). A layer only requires
// that gradients are summed over all ranks with the same weights, both replicas and tiles [ParaDL,
// Table III]. Weights without gradients are included, because ZeRO-3 gathers them.
void data_shard(const ShardContext& context, LayerShard& shard) {
  if (shard.parameters() <= 0 || context.plan.mesh.product(shard.replicas) == 1) return;
  const Family axes = shard.replicas & context.plan.mesh.family();
  const double trained = shard.trained();
  shard.exchanges.push_back({.operation = Collective::allreduce,
                             .items = shard.exchanged.value_or(trained),
                             .axes = axes,
                             .phase = Phase::gradient,
                             .purpose = Purpose::gradient,
                             .frozen = shard.parameters() - trained});
}

}  // namespace

bool limits_zero(const Assumptions& assumptions, const ModelFacts& facts) {
  return assumptions.local_steps > 1 || assumptions.synchronization != Synchronization::sync ||
         !may_scatter(assumptions.compression) || are_sparse(assumptions, facts) || assumptions.allreduce.has_value();
}

const Strategy data_strategy{Axis::data, "each rank trains the whole model on a shard of the batch", data_limits,
                             data_shard};

}  // namespace ddl
