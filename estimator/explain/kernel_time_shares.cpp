#include "estimator/explain/kernel_time_shares.hpp"

#include <cstddef>

namespace ddl {

std::array<double, enum_values<Provenance>.size()> kernel_time_shares(const Explanation& explanation) {
  const Plan& plan = explanation.estimate.plan;
  std::array<double, enum_values<Provenance>.size()> shares{};
  double all = 0;
  const auto add = [&](Provenance source, Seconds time) {
    shares[static_cast<std::size_t>(source)] += time.value();
    all += time.value();
  };
  for (const LayerExplanation& layer : explanation.layers) {
    for (const TimedKernel& kernel : layer.detail.kernels) {
      if (!kernel.is_overhead()) add(kernel.source, kernel.time * runs_per_iteration(plan, layer, kernel.phase));
    }
    const bool is_sharded = zero_stage_of(plan, layer.layer) >= 1;
    add(layer.detail.update_source,
        is_sharded ? layer.costs[LayerTime::sharded_update] * plan.shard_copies() : layer.costs[LayerTime::update]);
  }
  if (all <= 0) return {};
  for (double& share : shares) share /= all;
  return shares;
}

}  // namespace ddl
