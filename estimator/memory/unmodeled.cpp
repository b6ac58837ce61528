#include "estimator/memory/unmodeled.hpp"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>

#include "estimator/inputs/base_weights.hpp"
#include "estimator/inputs/expert_load.hpp"
#include "estimator/layers/job.hpp"
#include "estimator/layers/layer_costs.hpp"
#include "estimator/layers/layer_memory.hpp"
#include "estimator/memory/memory.hpp"
#include "estimator/strategies/expert.hpp"
#include "model_zoo/network/model.hpp"

namespace ddl {
namespace {

/// The inputs of products with quantized weights: up to version 0.43.1 of bitsandbytes, MatMul4Bit keeps its input
/// (`ctx.tensors = (A, B)` in bitsandbytes/autograd/_functions.py; pull request 1270 removed it). A layer that computes in
/// fp32 keeps a copy of its own (bitsandbytes/nn/modules.py, set_compute_type): the peaks of QLoRA in Lightning-AI/litgpt,
/// config_hub/finetune/README.md, need one. A recomputed block keeps them for a moment only.
Bytes kept_by_quantized(const StageOf& stage) {
  const Assumptions& assumptions = stage.job.assumptions;
  const bool is_known = assumptions.quantized_inputs != QuantizedInputs::none;
  if (!is_quantized(assumptions.base) || is_known || stage.plan.recompute == Recompute::full) return {};
  const ModelFacts& facts = stage.job.facts;
  constexpr double wide_bytes = 4;
  const double widening = wide_bytes / item_bytes(stage.plan.precision);
  Bytes bytes;
  for (int layer = stage.first; layer < stage.last; ++layer) {
    const auto index = static_cast<std::size_t>(layer);
    const Layer& at = facts.model->layers[index];
    // Adapters are trained parts of a layer whose other weights are frozen.
    const bool has_frozen = facts.is_linear[index] && at.block >= 0 && at.trained() < at.parameters();
    if (has_frozen && !at.inputs.empty()) bytes += stage.costs.memory(layer).inputs.front() * widening;
  }
  return bytes;
}

}  // namespace

Bytes most_unmodeled(const StageOf& stage, Bytes activations) {
  const Job& job = stage.job;
  const bool is_eager = job.assumptions.composites != CompositeKernels::fused;
  if (!is_eager || !job.facts.model->input.sequence || job.machine.device.is_processor) return {};
  // PyTorch 1 and TensorFlow 1 keep more than the rules of later versions: see the share below.
  const bool is_graph = job.assumptions.takes_device && job.assumptions.composites == CompositeKernels::all_operators;
  const bool is_older = job.assumptions.older_framework || is_graph;
  if (!is_older && !is_mixed(stage.plan.precision)) return {};
  const bool has_frozen = job.facts.trained_parameters < job.facts.parameters;
  const bool is_known = job.assumptions.attention_inputs != AttentionInputs::own;
  if (!is_older && !has_frozen && (!job.facts.repeats_keys || is_known)) return {};
  // Without dropout and inputs of attention, the peaks of nine models with LoRA exceeded the predicted activations by 6 to
  // 67 %, and by 22 % in the median [Lightning-AI/litgpt, config_hub/finetune/README.md]. The share is also added where
  // dropout and these inputs are described, because few such peaks are known.
  constexpr double later = 0.22;
  // Under PyTorch 1, five peaks of BERT exceeded the predicted ones by 21 to 24.5 % of the activations in fp32, and by 40 %
  // under autocast [huggingface/transformers, docs/source/en/perf_train_gpu_one.mdx].
  constexpr double older = 0.25, older_mixed = 0.41;
  const double share = !is_older ? later : is_mixed(stage.plan.precision) ? older_mixed : older;
  return activations * share + kept_by_quantized(stage);
}

// Sources: PyTorch, torch/distributed/fsdp/_runtime_utils.py: `_root_pre_forward`, `_post_forward_reshard` (the root module
// is not resharded after forward; as in FSDP2: pytorch/pytorch, issue 131965), `_prefetch_handle`, and `limit_all_gathers`,
// which allows two gathers; pytorch/pytorch, pull request 120256: offloaded shards are copied to the device before a gather.
// bitsandbytes/nn/modules.py: the scales of Params4bit are in `quant_state`, an attribute that FSDP does not shard.
Bytes most_gathered(const StageOf& stage) {
  const bool is_uniform = stage.plan.zero_segments.empty();
  const auto is_gathered = [&](int layer) { return is_uniform || zero_stage_of(stage.plan, layer) >= 3; };
  std::optional<Plan> sharded;
  if (!is_uniform) {
    const std::vector<int> zero_stages = zero_stages_of(stage.plan);
    sharded = with_zero_stage(stage.plan, *std::max_element(zero_stages.begin(), zero_stages.end()));
  }
  const Plan& plan = sharded ? *sharded : stage.plan;
  const Assumptions& assumptions = stage.job.assumptions;
  const ModelFacts& facts = stage.job.facts;
  const double ranks = plan.zero_stage >= 3 ? plan.shards() : 1.0;
  const bool streams = streams_weights(plan);
  // On one device, FSDP converts the weights of each unit instead of gathering them.
  const bool converts = assumptions.gathers_units && plan.mesh.devices() == 1 && is_mixed(plan.precision) &&
                        assumptions.mixed_precision == MixedPrecision::half_gradients && !assumptions.base;
  if (!streams && !converts && (ranks <= 1 || !plan.reshard || holds_whole(plan, assumptions))) return {};
  const bool has_base = assumptions.base.has_value();
  const bool has_scales = has_base && (assumptions.base == BaseWeights::nf4 || assumptions.base == BaseWeights::nf4_double);
  constexpr double code_of_nf4 = 0.5;
  const double base = has_base ? base_item_bytes(*assumptions.base) : 0, code = has_scales ? code_of_nf4 : base;
  const double weight = parameter_bytes(facts, plan, assumptions).weight;
  // Weights outside the base, such as embeddings, are in half precision (parameter_bytes).
  constexpr double half_bytes = 2;
  const double other = !has_base ? weight : is_mixed(plan.precision) ? half_bytes : item_bytes(plan.precision);
  double all = 0, outside = 0, previous = 0, current = 0, pair = 0, scales = 0;
  for (int layer = stage.first, block = -1; layer < stage.last; ++layer) {
    if (!is_gathered(layer)) continue;
    const LayerCosts& costs = stage.costs.at(layer);
    const auto index = static_cast<std::size_t>(layer);
    const int own = facts.model->layers[index].block;
    const bool is_base = has_base && own >= 0 && facts.is_linear[index];
    const double frozen = is_base ? costs[LayerCount::parameters] - costs[LayerCount::trained] : 0.0;
    const double bytes = frozen * code + (costs[LayerCount::parameters] - frozen) * other;
    scales += frozen * (base - code);
    all += bytes;
    if (own < 0) {
      outside += bytes;
      continue;
    }
    if (own != block) previous = std::exchange(current, 0.0);
    block = own;
    current += bytes;
    pair = std::max(pair, previous + current);
  }
  ParameterCounts counts;
  if (is_uniform) {
    counts = parameter_counts(stage);
  } else {
    for (const ZeroPart& part : zero_parts(stage.plan, stage.first, stage.last)) {
      if (part.plan.zero_stage >= 3) counts = parameter_counts(stage, part);
    }
  }
  const double counted = streams ? std::min(counts.all, 2 * counts.largest_layer) : counts.largest_layer * (1 - 1 / ranks);
  const double gathered = std::min(outside + pair, all), copied = streams && ranks > 1 ? gathered / ranks : 0.0;
  const double unsharded = scales * (streams ? 1.0 : 1 - 1 / ranks);
  return Bytes(std::max(0.0, gathered + copied + unsharded - counted * weight));
}

Bytes most_buckets(const StageOf& stage) {
  const Assumptions& assumptions = stage.job.assumptions;
  if (!assumptions.flat_gradients) return {};
  Bytes buckets{};
  for (const ZeroPart& part : zero_parts(stage.plan, stage.first, stage.last)) {
    if (part.plan.zero_stage == 2)
      buckets += bucket_bytes(part_parameters(stage, part, true) * stage.parts, part.plan, assumptions.mixed_precision);
  }
  return buckets;
}

double routing_excess(const StageOf& stage) {
  const Assumptions& assumptions = stage.job.assumptions;
  const auto experts = static_cast<double>(stage.job.facts.experts), ranks = static_cast<double>(expert_parts(stage.plan));
  if (!is_load_unknown(assumptions) || ranks <= 1) return 0;
  return std::max(0.0, natural_load(assumptions, experts, ranks) / expert_load(assumptions, experts, ranks) - 1);
}

}  // namespace ddl
