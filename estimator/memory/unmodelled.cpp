#include "estimator/memory/unmodelled.hpp"

#include "model_zoo/network/model.hpp"

namespace ddl {

Bytes most_unmodelled(const Job& job, const Plan& plan, Bytes activations) {
  const bool is_eager = job.assumptions.composites == CompositeKernels::operators && is_mixed(plan.precision);
  if (!is_eager || !job.facts.model->input.sequence || job.machine.device.is_processor) return {};
  // From one to two samples, the peaks of litgpt's LoRA of Llama 2 7B grow by 7.77 GB [Lightning-AI/litgpt,
  // tutorials/resource-tables.md]. The rules of this program predict 6.42 GB, a fifth less.
  constexpr double share = 0.21;
  return activations * share;
}

}  // namespace ddl
