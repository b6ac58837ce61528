#include "estimator/search/memory_bounds.hpp"

#include <algorithm>
#include <vector>

#include "estimator/memory/memory.hpp"
#include "estimator/schedules/schedule.hpp"
#include "estimator/strategies/embedding_tables.hpp"
#include "estimator/strategies/strategy.hpp"

namespace ddl {

namespace {

/// Returns the plan with the sharding of parameters that needs the least memory.
Plan most_sharded(Plan plan) {
  plan.zero_stage = 3;
  plan.shard_group = 0;
  plan.reshard = true;
  plan.secondary_shards = 0;
  return plan;
}

}  // namespace

Bytes memory_lower_bound(const Job& job, const Plan& plan) { return parameters_lower_bound(job, most_sharded(plan)); }

bool host_lacks_memory(const Estimator& estimator, const Plan& plan) {
  return estimator.host_limit(most_sharded(plan), {}).has_value();
}

Bytes parameters_lower_bound(const Job& job, const Plan& plan) {
  const double splits = plan.mesh.product(weight_axes);
  const double elsewhere = 1.0 - 1.0 / plan.mesh[Axis::expert];
  // Data-parallel ranks may distribute tables, and have no dense gradients of them.
  const bool distributes = ways_to_distribute_tables(job.facts, plan) > 0;
  const double tables = distributes ? job.facts.table_parameters : 0.0;
  const double tables_elsewhere = tables * (1.0 - 1.0 / plan.mesh[Axis::data]);
  const auto on_rank = [&](double all, double experts) {
    return (all - experts * elsewhere - tables_elsewhere) / splits / plan.mesh[Axis::pipeline];
  };
  const double untouched = distributes || job.assumptions.sparse_gradients ? job.facts.lookup_parameters : 0.0;
  const double parameters = on_rank(job.facts.parameters, job.facts.expert_parameters);
  if (job.assumptions.memory_reuse) {
    return Bytes(2.0 * *job.assumptions.memory_reuse * item_bytes(plan.precision) * parameters);
  }
  const double trained = on_rank(job.facts.trained_parameters, job.facts.trained_expert_parameters);
  Assumptions least = job.assumptions;
  // A plan has at least the bytes of gradients in half precision.
  if (least.mixed_precision != MixedPrecision::pure) least.mixed_precision = MixedPrecision::half_gradients;
  // With whole weights and sums of gradients, a stage would need more memory than with a lower ZeRO stage, so the bound
  // ignores them.
  least.gathers_units = false;
  ParameterBytes each = parameter_bytes(job.facts, plan, least);
  // If sharded master copies are gathered, weights count two of their bytes, and gradients two more.
  if (job.assumptions.gathers_units && is_mixed(plan.precision)) each.optimizer = std::max(0.0, each.optimizer - 2);
  return parameter_memory({.all = parameters, .trained = trained, .untouched = std::min(trained, untouched)}, plan, each)
      .total();
}

bool keeps_more_than(const Estimator& estimator, const Plan& plan, Bytes limit) {
  const Job& job = estimator.job();
  // Shards add up to the whole except for rounding.
  constexpr double rounding = 1 - 1e-9;
  if (parameters_lower_bound(job, plan) * rounding > limit) return true;
  if (job.assumptions.memory_reuse || plan.offload_activations) return false;
  // After its last forward, the first stage holds all activations of its micro-batches in addition to its parameters.
  const std::vector<int>& firsts = estimator.stages(plan);
  const auto micro_batches = static_cast<double>(plan.micro_batches);
  const int stages = plan.mesh[Axis::pipeline];
  const double in_flight = micro_batches_in_flight(plan.schedule, 0, stages, micro_batches, plan.virtual_stages) -
                           mirrored_in_flight(plan.schedule, 0, stages, micro_batches);
  const StageOf first{job, plan, estimator.tables().costs(plan), firsts[0], firsts[1]};
  MemoryBreakdown own = parameter_memory({.all = stage_parameters(first),
                                          .trained = stage_parameters(first, true),
                                          .untouched = first.all_costs()[LayerCount::untouched]},
                                         plan, parameter_bytes(job.facts, plan, job.assumptions));
  if (!has_whole_gradients(plan, job.assumptions)) own.gradients = Bytes{};
  const Bytes kept = estimator.memories().kept_alike(plan, firsts[0], firsts[1]) * in_flight;
  if ((own.total() + kept) * rounding > limit) return true;
  return (estimator.memories().resident(plan, firsts[0], firsts[1]) + kept) * rounding > limit;
}

bool needs_more_than(const Estimator& estimator, const Plan& plan, Bytes limit) {
  if (keeps_more_than(estimator, plan, limit)) return true;
  const bool may_be_first = !estimator.job().assumptions.memory_reuse;
  return (may_be_first && estimator.memories().memory(plan, estimator.stages(plan), 0).total() > limit) ||
         estimator.memory(plan).total() > limit;
}

}  // namespace ddl
