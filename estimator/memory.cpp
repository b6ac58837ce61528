#include "estimator/memory.hpp"

#include <algorithm>

#include "estimator/pipeline.hpp"

namespace ddl {

ParameterBytes parameter_bytes(Optimizer optimizer, Precision precision) {
  ParameterBytes bytes;
  if (is_mixed(precision)) bytes = {2, 2, 4};
  if (optimizer == Optimizer::momentum) bytes.optimizer += 4;
  if (optimizer == Optimizer::adam) bytes.optimizer += 8;
  return bytes;
}

MemoryBreakdown parameter_memory(double parameters, const Plan& plan, double largest_layer) {
  const ParameterBytes each = parameter_bytes(plan.optimizer, plan.precision);
  const double replicas = static_cast<double>(plan.data) * degree(plan, Axis::spatial);
  MemoryBreakdown memory;
  const auto held = [&](bool sharded) {
    return sharded ? parameters / replicas + largest_layer * (1.0 - 1.0 / replicas) : parameters;
  };
  memory.weights = Bytes(held(plan.zero_stage >= 3) * each.weight);
  memory.gradients = Bytes(held(plan.zero_stage >= 2) * each.gradient);
  memory.optimizer = Bytes(parameters * each.optimizer / (plan.zero_stage >= 1 ? replicas : 1.0));
  return memory;
}

MemoryBreakdown stage_memory(const Job& job, const Plan& plan, const LayerCostTable& table, int stage, int first, int last) {
  const LayerCosts costs = table.between(first, last);
  if (job.assumptions.memory_reuse) {
    // 2γδ Σ(B(|x|+|y|)+|w|) [ParaDL, Table III]: activations and their gradients, weights and theirs. A pipeline there keeps
    // the whole batch.
    const double gamma = *job.assumptions.memory_reuse;
    const double delta = item_bytes(plan.precision);
    MemoryBreakdown memory;
    memory.weights = Bytes(gamma * delta * costs.parameters);
    memory.gradients = memory.weights;
    memory.activations = (costs.input + costs.output) * (2.0 * gamma * static_cast<double>(plan.micro_batches));
    return memory;
  }
  double parameters = costs.parameters;
  double largest_layer = 0;
  if (plan.zero_stage >= 2) {
    for (int layer = first; layer < last; ++layer) largest_layer = std::max(largest_layer, table.at(layer).parameters);
  }
  // A stage that reads weights of another stage has a copy of them, however many of its layers read them.
  for (const TiedLayer& tied : job.facts.tied) {
    if (tied.reader >= first && tied.reader < last && tied.previous < first) parameters += table.at(tied.owner).parameters;
  }
  MemoryBreakdown memory = parameter_memory(parameters, plan, largest_layer);
  const double in_flight =
      micro_batches_in_flight(plan.schedule, stage, plan.layer, static_cast<double>(plan.micro_batches));
  const Bytes peak = table.kept(first, last) * (in_flight - 1.0) + table.peak(first, last);
  memory.activations = peak;
  if (plan.recompute == Recompute::full) {
    // Checkpoints of every micro-batch in flight, and one block being recomputed: where that is most of them, nothing is
    // saved.
    const LayerCostTable::Checkpoints kept = table.checkpoints(first, last);
    memory.activations = min(kept.inputs * in_flight + kept.largest_block, peak);
  }
  return memory;
}

}  // namespace ddl
