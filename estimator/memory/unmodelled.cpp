#include "estimator/memory/unmodelled.hpp"

#include <algorithm>
#include <cstddef>
#include <set>

#include "estimator/inputs/expert_load.hpp"
#include "estimator/layers/job.hpp"
#include "estimator/layers/layer_costs.hpp"
#include "estimator/layers/layer_memory.hpp"
#include "estimator/strategies/expert.hpp"
#include "model_zoo/network/model.hpp"

namespace ddl {
namespace {

/// The inputs of frozen products whose weights are quantized by bitsandbytes: MatMul4Bit keeps its input in version 0.41
/// (`ctx.tensors = (A, B)` in bitsandbytes/autograd/_functions.py), and in later versions does not. A recomputed block keeps
/// them for a moment only.
Bytes kept_by_quantized(const StageOf& stage) {
  const std::optional<BaseWeights>& base = stage.job.assumptions.base;
  const bool is_quantized = base == BaseWeights::nf4 || base == BaseWeights::nf4_double || base == BaseWeights::int8;
  if (!is_quantized || stage.plan.recompute == Recompute::full) return {};
  const ModelFacts& facts = stage.job.facts;
  std::set<int> counted;
  Bytes bytes;
  for (int layer = stage.first; layer < stage.last; ++layer) {
    const auto index = static_cast<std::size_t>(layer);
    const Layer& at = facts.model->layers[index];
    const bool is_frozen = facts.is_linear[index] && at.block >= 0 && at.trained() == 0;
    if (is_frozen && !at.inputs.empty() && counted.insert(at.inputs.front()).second)
      bytes += stage.costs.memory(layer).inputs.front();
  }
  return bytes;
}

}  // namespace

Bytes most_unmodelled(const StageOf& stage, Bytes activations) {
  const Job& job = stage.job;
  const bool is_eager = job.assumptions.composites == CompositeKernels::operators && is_mixed(stage.plan.precision);
  if (!is_eager || !job.facts.model->input.sequence || job.machine.device.is_processor) return {};
  // From one to two samples, the peaks of litgpt's LoRA of Llama 2 7B grow by 7.77 GB [Lightning-AI/litgpt,
  // tutorials/resource-tables.md]. The rules of this program predict 6.42 GB, a fifth less.
  constexpr double share = 0.21;
  return activations * share + kept_by_quantized(stage);
}

Bytes most_of_routing(const StageOf& stage, double held) {
  const Assumptions& assumptions = stage.job.assumptions;
  const auto experts = static_cast<double>(stage.job.facts.experts), ranks = static_cast<double>(expert_parts(stage.plan));
  if (!is_load_unknown(assumptions) || ranks <= 1) return {};
  const double more = natural_load(assumptions, experts, ranks) / expert_load(assumptions, experts, ranks) - 1;
  return stage.all_costs()[LayerBytes::kept_of_experts] * (std::max(0.0, more) * held);
}

}  // namespace ddl
