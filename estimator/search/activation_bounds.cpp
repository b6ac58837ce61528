#include "estimator/search/activation_bounds.hpp"

#include <algorithm>
#include <limits>

#include "estimator/layers/layer_costs.hpp"
#include "estimator/memory/memory.hpp"
#include "estimator/schedules/schedule.hpp"

namespace ddl {
namespace {

/// The number of samples for which kept bytes are computed. A part of them, such as statistics, does not grow with the
/// samples, so the bytes per sample are a lower bound for smaller micro-batches.
constexpr double many_samples = 1024;

/// More bytes than the allocator adds by rounding up the tensors that a layer keeps.
constexpr Bytes rounding_of_layer(8 * 512.0);

}  // namespace

const ActivationBounds::Kept& ActivationBounds::kept_of(const Plan& plan) {
  const auto [entry, is_new] = known_.try_emplace({plan.mesh.tiles(), plan.mesh[Axis::filter], plan.mesh[Axis::channel]});
  Kept& kept = entry->second;
  if (!is_new) return kept;
  const Job& job = estimator_.job();
  Plan alone;
  alone.mesh = plan.mesh;
  alone.mesh.set(Axis::data, 1);
  alone.mesh.set(Axis::pipeline, 1);
  alone.precision = plan.precision;
  alone.optimizer = plan.optimizer;
  alone.global_batch = static_cast<std::int64_t>(many_samples) * alone.mesh.batch_parts();
  // The times of kernels do not affect memory.
  const LayerKinds& kinds = estimator_.tables().kinds_of(alone);
  const std::vector<KernelCosts> none(kinds.count.size());
  const LayerCostTable costs(job, alone, kinds, false, &none);
  const auto count = static_cast<int>(job.facts.model->layers.size());
  const auto per_sample = [&](Bytes bytes, int layers) {
    return max(Bytes{}, bytes - rounding_of_layer * layers) / many_samples;
  };
  const auto least_of = [&](int last) {
    Bytes least(std::numeric_limits<double>::infinity());
    for (const Recompute recompute : enum_values<Recompute>) {
      alone.recompute = recompute;
      least = min(least, kept_by_micro_batch({job, alone, costs, 0, last}).allocated);
    }
    return per_sample(least, last);
  };
  kept.all = least_of(count);
  kept.first = least_of(1);
  return kept;
}

Bytes ActivationBounds::least(const Plan& plan) {
  const Mesh& mesh = plan.mesh;
  if (mesh[Axis::tensor] > 1 || mesh[Axis::context] > 1 || mesh[Axis::expert] > 1) return {};
  const Kept& kept = kept_of(plan);
  const int stages = mesh[Axis::pipeline];
  const double samples = std::min(many_samples, samples_per_micro_batch(plan));
  // The first stage has the first layer. Of all schedules, 1F1B keeps the fewest micro-batches.
  const double in_flight =
      micro_batches_in_flight(Schedule::one_forward_one_backward, 0, stages, static_cast<double>(plan.micro_batches));
  return max(kept.all / stages, kept.first * in_flight) * samples;
}

}  // namespace ddl
