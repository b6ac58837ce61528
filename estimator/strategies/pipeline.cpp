#include "estimator/strategies/pipeline.hpp"

#include "estimator/facts/token_order.hpp"
#include "estimator/schedules/schedule.hpp"

namespace ddl {
namespace {

/// Returns whether equal blocks can be distributed over this many model chunks. The layers before and after the blocks may
/// count as a block each, as with Megatron-LM's `--account-for-embedding-in-pipeline-split` and
/// `--account-for-loss-in-pipeline-split`, and may be a chunk of their own: 126 blocks of Llama 3.1 405B on 16 stages of 8
/// chunks. If a few blocks differ from the others, as the dense blocks of DeepSeek-V3 do, a list assigns blocks to chunks
/// (`--pipeline-model-parallel-layout`), so the number of blocks need not be divisible.
bool deals_blocks(const ModelFacts& facts, int chunks) {
  constexpr int outer_slots = 2;
  if (facts.like_blocks == 0) return facts.similar_blocks > 0 && facts.similar_blocks + outer_slots >= chunks;
  for (int slots = facts.like_blocks; slots <= facts.like_blocks + outer_slots; ++slots) {
    if (slots >= chunks && slots % chunks == 0) return true;
  }
  return false;
}

/// Returns whether the blocks that a plan assigns to the first or last stage divide into this many chunks of each stage. The
/// layers before and after the blocks may count as a block, and stages between them have equal chunks.
bool deals_assigned_blocks(const ModelFacts& facts, const Plan& plan, int virtual_stages) {
  const std::vector<int> blocks = blocks_of_stages(facts, plan);
  if (blocks.empty()) return false;
  if (facts.like_blocks == 0) return true;
  for (std::size_t stage = 0; stage < blocks.size(); ++stage) {
    const bool is_outer = stage == 0 || stage + 1 == blocks.size();
    const int chunks = virtual_stages;
    if (blocks[stage] % chunks != 0 && !(is_outer && (blocks[stage] + 1) % chunks == 0)) return false;
  }
  return true;
}

bool deals_blocks(const ModelFacts& facts, const Plan& plan, int virtual_stages) {
  if (plan.first_stage_blocks > 0 || plan.last_stage_blocks > 0) return deals_assigned_blocks(facts, plan, virtual_stages);
  return deals_blocks(facts, plan.mesh[Axis::pipeline] * virtual_stages);
}

/// Returns the number of equal parts that the model's blocks must be divisible into, for a schedule
/// in which micro-batches pass a rank twice, or enter at both ends.
int equal_parts(const ScheduleOrder& order, int stages) {
  return order.course == Course::there_and_back ? stages * order.chunks : stages;
}

void layer_limits(const LimitContext& context, Limits& limits) {
  const Plan& plan = context.plan;
  const auto layers = static_cast<double>(context.facts.weighted.size());
  const int stages = plan.mesh[Axis::pipeline];
  if (stages > layers && stages > 1) {
    limits.add({Limit::Kind::stages, static_cast<double>(stages), layers, -1});
  }
  if (stages == 1) return;
  const int assigned = plan.first_stage_blocks + plan.last_stage_blocks;
  if (assigned > 0 && blocks_of_stages(context.facts, plan).empty()) {
    limits.add(
        {Limit::Kind::stage_blocks, static_cast<double>(assigned), static_cast<double>(context.facts.model->blocks), -1});
    return;
  }
  const ScheduleOrder& order = order_of(plan.schedule);
  if (!order.takes(stages, plan.micro_batches)) {
    limits.add({Limit::Kind::filled_bubbles, static_cast<double>(order.fewest) * stages,
                static_cast<double>(plan.micro_batches), -1, order.name, static_cast<double>(order.multiple)});
  } else if (!may_schedule(context.facts, plan, plan.schedule)) {
    limits.add({Limit::Kind::virtual_stages, static_cast<double>(equal_parts(order, stages)),
                static_cast<double>(context.facts.like_blocks), -1});
  }
  const bool is_plain = plan.schedule == Schedule::one_forward_one_backward && plan.virtual_stages == 1 &&
                        plan.zero_stage < 3 && plan.offload == Offload::none && !plan.offload_activations;
  if (context.assumptions != nullptr && context.assumptions->weight_versions && !is_plain)
    limits.add({Limit::Kind::weight_versions, static_cast<double>(plan.zero_stage), 0, -1});
  const bool in_pieces =
      context.assumptions != nullptr && context.assumptions->token_pieces > 1 && shortest_sequence(context.facts) > 1;
  if (in_pieces && (plan.virtual_stages > 1 || order.course != Course::around || order.fills_bubbles))
    limits.add({Limit::Kind::token_pieces, context.assumptions->token_pieces, 1, -1});
  if (plan.virtual_stages == 1) return;
  const double chunks = static_cast<double>(stages) * plan.virtual_stages;
  if (plan.schedule != Schedule::one_forward_one_backward) {
    limits.add({Limit::Kind::not_interleaved, static_cast<double>(plan.virtual_stages), 1, -1});
  } else if (!deals_blocks(context.facts, plan, plan.virtual_stages)) {
    limits.add({Limit::Kind::virtual_stages, chunks, static_cast<double>(context.facts.like_blocks), -1});
  } else if (plan.micro_batches % stages != 0) {
    limits.add({Limit::Kind::interleaving, static_cast<double>(stages), static_cast<double>(plan.micro_batches), -1});
  }
}

// A stage computes unsplit layers. The tensors that are live at a cut are sent to the next stage in
// forward, and their gradients are sent back in backward. Cuts are placed later, when stages are
// balanced, so every layer describes the elements that a cut before it would send.
void layer_shard(const ShardContext& context, LayerShard& shard) {
  if (context.plan.mesh[Axis::pipeline] == 1 || context.layer == 0) return;
  const double items = crossing_items(context.facts, context.plan, context.layer, context.replicated);
  for (const Phase phase : {Phase::forward, Phase::backward}) {
    shard.exchanges.push_back({Collective::point_to_point, items, family_bit(Axis::pipeline), phase, Purpose::pipeline, 1});
  }
}

}  // namespace

bool may_interleave(const ModelFacts& facts, const Plan& plan, int virtual_stages) {
  const int stages = plan.mesh[Axis::pipeline];
  return plan.schedule == Schedule::one_forward_one_backward && plan.micro_batches % stages == 0 &&
         deals_blocks(facts, plan, virtual_stages);
}

std::vector<int> blocks_of_stages(const ModelFacts& facts, const Plan& plan) {
  const int stages = plan.mesh[Axis::pipeline], first = plan.first_stage_blocks, last = plan.last_stage_blocks;
  const int others = stages - (first > 0 ? 1 : 0) - (last > 0 ? 1 : 0), rest = facts.model->blocks - first - last;
  if (stages == 1 || (first == 0 && last == 0) || rest < others || (others == 0 && rest > 0)) return {};
  std::vector<int> blocks(static_cast<std::size_t>(stages));
  // Later stages get what is left over, because earlier stages hold more micro-batches.
  for (int stage = 0, left = others; stage < stages; ++stage) {
    int& own = blocks[static_cast<std::size_t>(stage)];
    if (stage == 0 && first > 0) {
      own = first;
    } else if (stage + 1 == stages && last > 0) {
      own = last;
    } else {
      own = rest / others + (left-- <= rest % others ? 1 : 0);
    }
  }
  return blocks;
}

bool may_schedule(const ModelFacts& facts, const Plan& plan, Schedule schedule) {
  const ScheduleOrder& order = order_of(schedule);
  const int stages = plan.mesh[Axis::pipeline];
  return order.takes(stages, plan.micro_batches) &&
         (order.course == Course::around ||
          (plan.first_stage_blocks == 0 && plan.last_stage_blocks == 0 && deals_blocks(facts, equal_parts(order, stages))));
}

double crossing_items(const ModelFacts& facts, const Plan& plan, int layer, const ReplicatedLayers& replicated) {
  const auto index = static_cast<std::size_t>(layer);
  double items = facts.live_items[index];
  if (replicated.has_tiles_before(layer)) items /= plan.mesh[Axis::spatial];
  items /= plan.mesh[Axis::context];
  const double split = facts.live_split_items[index] / plan.mesh[Axis::context];
  if (plan.sequence_parallel) items -= split * (1.0 - 1.0 / plan.mesh[Axis::tensor]);
  return items;
}

const Strategy pipeline_strategy{Axis::pipeline,
                                 "the layers are distributed to stages, which process micro-batches in a pipeline",
                                 layer_limits, layer_shard};

}  // namespace ddl
