#include "estimator/layers/layer_memory.hpp"

#include <algorithm>
#include <cmath>

#include "estimator/inputs/expert_load.hpp"
#include "estimator/kernels/kernel_time.hpp"
#include "estimator/strategies/expert.hpp"
#include "estimator/strategies/shard_memory.hpp"

namespace ddl {
namespace {

/// Returns the scratch memory of library kernels in addition to the temporaries that rules predict. If both were measured or
/// predicted, the library's scratch memory includes the temporaries. Empty if no kernel of this device was measured.
ShardWorkspace workspace_with(const Job& job, const ShardContext& context, const LayerShard& shard, const ShardMemory& own) {
  const ShardTimes* measured = job.kernels.measured();
  if (measured == nullptr || job.times_whole_layers()) return {};
  ShardWorkspace workspace = measured->workspace(context, shard);
  const auto subtract_scratch = [](ShardWorkspace::Range& range, Bytes scratch) {
    range.expected -= min(range.expected, scratch);
    range.most -= min(range.most, scratch);
  };
  subtract_scratch(workspace.forward, own.scratch_forward);
  subtract_scratch(workspace.backward_weight, own.scratch_backward);
  subtract_scratch(workspace.backward_data, own.scratch_backward);
  return workspace;
}

/// Whether the layer is the head or the loss of a model whose head and loss run together in chunks.
bool has_linear_entropy(const ShardContext& context) {
  if (context.assumptions.cross_entropy != CrossEntropy::linear || !is_mixed(context.plan.precision)) return false;
  const int head = context.facts.last_matrix;
  if (head < 0) return false;
  const std::vector<int>& inputs = context.at().inputs;
  const bool reads_head = !inputs.empty() && inputs.front() == head && context.at().operation->type() == "loss";
  const auto& readers = context.facts.readers[static_cast<std::size_t>(head)];
  const bool is_head =
      context.layer == head && !readers.empty() &&
      context.facts.model->layers[static_cast<std::size_t>(readers.back().layer)].operation->type() == "loss";
  return reads_head || is_head;
}

bool is_in_mlp(const ModelFacts& facts, int layer) {
  return layer >= 0 && facts.modules[static_cast<std::size_t>(layer)].contains(RecomputeModule::mlp);
}

/// Reduces what a layer of an MLP needs to one tile of tokens. The tensors that enter and leave the MLP are whole. Forward
/// keeps the input of the MLP alone, and backward recomputes tile by tile [deepspeedai/DeepSpeed,
/// deepspeed/runtime/sequence_parallel/ulysses_sp.py, TiledMLP]. `fixed`: what the layer needs without any token, such as
/// converted weights, which every tile needs.
void keep_tile(const ShardContext& context, double share, const ShardMemory& fixed, ShardMemory& own, LayerMemory& memory) {
  const std::vector<int>& inputs = context.at().inputs;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (is_in_mlp(context.facts, inputs[i])) memory.inputs[i] = memory.inputs[i] * share;
  }
  const auto& readers = context.facts.readers[context.index()];
  const bool is_inner = std::all_of(readers.begin(), readers.end(),
                                    [&](const TensorReader& reader) { return is_in_mlp(context.facts, reader.layer); });
  if (is_inner) memory.output = memory.output * share;
  for (Bytes ShardMemory::*each : {&ShardMemory::own, &ShardMemory::copies, &ShardMemory::statistics, &ShardMemory::gathered,
                                   &ShardMemory::scratch_forward, &ShardMemory::scratch_backward}) {
    const Bytes of_all = min(own.*each, fixed.*each);
    own.*each = of_all + (own.*each - of_all) * share;
  }
}

}  // namespace

double tile_share(const ShardContext& context, const LayerShard& shard) {
  const std::optional<double>& asked = context.assumptions.mlp_tiles;
  if (!asked || !is_in_mlp(context.facts, context.layer) || context.facts.last_matrix < 0) return 1;
  const auto head = static_cast<std::size_t>(context.facts.last_matrix);
  const auto hidden = static_cast<double>(context.facts.model->layers[head].input_shapes.front().channels);
  const auto positions = static_cast<double>(shard.output.positions());
  const double tiles = std::min(positions, *asked > 0 ? *asked : std::ceil(positions / hidden));
  return 1 / std::max(1.0, tiles);
}

bool holds_routed_tokens(const ModelFacts& facts, int layer) {
  if (layer < 0) return false;
  const auto index = static_cast<std::size_t>(layer);
  return facts.in_experts[index] || facts.model->layers[index].operation->type() == "dispatch";
}

LayerMemory layer_memory(const Job& job, const ShardContext& context, const LayerShard& shard) {
  ShardMemory own = shard_memory(context, shard, job.machine.device.is_processor);
  const auto bytes = [&](const TensorShape& shape, int tensor) {
    const double item = tensor_item_bytes(context.facts, context.plan, context.assumptions, tensor);
    return Bytes(static_cast<double>(shape.items()) * shard.samples * item);
  };
  LayerMemory memory;
  memory.output = bytes(shard.kept_output, context.layer);
  const std::vector<int>& inputs = context.at().inputs;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    memory.inputs.push_back(bytes(i == 0 ? shard.kept_input : shard.inputs[i], inputs[i]));
  }
  if (has_linear_entropy(context)) {
    // Logits of one chunk exist at a time. The logits of a chunk are as large as the hidden states of all tokens [Liger
    // Kernel, src/liger_kernel/ops/fused_linear_cross_entropy.py].
    const bool is_loss = context.at().operation->type() == "loss";
    const auto head = static_cast<std::size_t>(context.facts.last_matrix);
    const TensorShape& hidden = context.facts.model->layers[head].input_shapes.front();
    const double share = std::min(1.0, static_cast<double>(hidden.channels) /
                                           static_cast<double>(context.facts.model->layers[head].output_shape.channels));
    if (is_loss) {
      memory.inputs.front() = memory.inputs.front() * share;
      own.own = own.own * share;
    } else {
      memory.output = memory.output * share;
    }
  }
  // The rank with the most tokens needs the most memory.
  const double load = expert_load(job.assumptions, static_cast<double>(context.facts.experts),
                                  static_cast<double>(expert_parts(context.plan)));
  if (load != 1) {
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (holds_routed_tokens(context.facts, inputs[i])) memory.inputs[i] = memory.inputs[i] * load;
    }
    if (holds_routed_tokens(context.facts, context.layer)) {
      for (Bytes* each : {&memory.output, &own.own, &own.copies, &own.statistics, &own.gathered, &own.scratch_forward,
                          &own.scratch_backward})
        *each = *each * load;
    }
  }
  if (const double share = tile_share(context, shard); share < 1) {
    LayerShard empty = shard;
    empty.samples = 0;
    keep_tile(context, share, shard_memory(context, empty, job.machine.device.is_processor), own, memory);
  }
  memory.kept = {own.own, own.copies, own.statistics * 0.5, own.statistics * 0.5, own.gathered};
  memory.scratch_forward = own.scratch_forward;
  memory.scratch_backward = own.scratch_backward;
  memory.workspace = workspace_with(job, context, shard, own);
  memory.weights = shard.weights;
  memory.biases = shard.biases;
  memory.trained_share = shard.trained_share;
  if (shard.trained() > 0) memory.touched_share = shard.updated() / shard.trained();
  memory.replicas = context.plan.mesh.product(shard.replicas);
  return memory;
}

}  // namespace ddl
