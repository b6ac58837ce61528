#include "estimator/memory/unmodelled.hpp"

#include <cstddef>
#include <set>

#include "estimator/layers/job.hpp"
#include "estimator/layers/layer_costs.hpp"
#include "estimator/layers/layer_memory.hpp"
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

}  // namespace ddl
