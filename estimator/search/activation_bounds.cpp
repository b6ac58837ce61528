#include "estimator/search/activation_bounds.hpp"

#include <algorithm>
#include <limits>

#include "estimator/choices/plan_choice.hpp"
#include "estimator/layers/layer_costs.hpp"
#include "estimator/memory/memory.hpp"
#include "estimator/schedules/schedule.hpp"
#include "estimator/search/variants.hpp"

namespace ddl {
namespace {

/// The number of samples for which kept bytes are computed. A part of them, such as statistics, does not grow with the
/// samples, so the bytes per sample are a lower bound for smaller micro-batches.
constexpr double many_samples = 1024;

/// More bytes than the allocator adds by rounding up the tensors that a layer keeps.
constexpr Bytes rounding_of_layer(8 * 512.0);

Job without_sent(const Job& job) {
  Assumptions assumptions = job.assumptions;
  assumptions.keeps_sent = false;
  return job.with_assumptions(assumptions);
}

}  // namespace

ActivationBounds::ActivationBounds(const Estimator& estimator)
    : estimator_(estimator), job_(without_sent(estimator.job())) {}

const ActivationBounds::Kept& ActivationBounds::kept_of(const Plan& plan) {
  Mesh divided = plan.mesh;
  divided.set(Axis::data, 1);
  divided.set(Axis::pipeline, 1);
  const auto [entry, is_new] = known_.try_emplace(divided);
  Kept& kept = entry->second;
  if (!is_new) return kept;
  Plan alone;
  alone.mesh = divided;
  alone.precision = plan.precision;
  alone.optimizer = plan.optimizer;
  alone.global_batch = static_cast<std::int64_t>(many_samples) * alone.mesh.batch_parts();
  // The times of kernels do not affect memory.
  const LayerKinds& kinds = estimator_.tables().kinds_of(alone);
  const std::vector<KernelCosts> none(kinds.count.size());
  const auto count = static_cast<int>(job_.facts.model->layers.size());
  kept.all = kept.first = Bytes(std::numeric_limits<double>::infinity());
  for (Plan& way : ways_to_divide(job_.facts, alone)) {
    const LayerCostTable costs(job_, way, kinds, false, &none);
    const auto lower = [&](Bytes& least, int last) {
      for (const Recompute recompute : enum_values<Recompute>) {
        way.recompute = recompute;
        const Bytes bytes = kept_by_micro_batch({job_, way, costs, 0, last}).allocated;
        least = min(least, max(Bytes{}, bytes - rounding_of_layer * last) / many_samples);
      }
    };
    lower(kept.all, count);
    lower(kept.first, 1);
  }
  return kept;
}

Bytes ActivationBounds::least(const Plan& plan) {
  const Kept& kept = kept_of(plan);
  const int stages = plan.mesh[Axis::pipeline];
  const double samples = std::min(many_samples, samples_per_micro_batch(plan));
  // Of all schedules, 1F1B keeps the fewest micro-batches. If no stage keeps more than B bytes, a stage keeps at most B
  // divided by its number of micro-batches for one micro-batch.
  const auto in_flight = [&](int stage) {
    return micro_batches_in_flight(Schedule::one_forward_one_backward, stage, stages,
                                   static_cast<double>(plan.micro_batches));
  };
  double shares = 0;
  for (int stage = 0; stage < stages; ++stage) shares += 1 / in_flight(stage);
  // The first stage has the first layer.
  return max(kept.all / shares, kept.first * in_flight(0)) * samples;
}

}  // namespace ddl
