#include <algorithm>

#include "estimator/exchanges/gradient_exchange.hpp"
#include "estimator/layers/overlaps.hpp"
#include "estimator/search/time_bounds.hpp"
#include "estimator/search/variants.hpp"
#include "estimator/strategies/strategy.hpp"

namespace ddl {

Bytes TimeBounds::shown_gradients(const Plan& plan) const {
  const bool hidden = window_of_gradients(job_.coefficients, job_.assumptions, false) != Window::none ||
                      window_of_gathers(job_.coefficients, job_.assumptions) != Window::none;
  if (hidden || plan.mesh.replicas() == 1) return {};
  if (job_.assumptions.compression != Compression::none || job_.assumptions.local_steps > 1 ||
      job_.assumptions.synchronization != Synchronization::sync)
    return {};
  const double splits = plan.mesh.product(weight_axes);
  // Experts are divided among the ranks of their axis.
  const bool may_be_sparse = job_.assumptions.sparse_gradients || !job_.facts.tables.empty();
  const double all = job_.facts.trained_parameters - (may_be_sparse ? job_.facts.lookup_parameters : 0.0);
  const double dense = plan.mesh[Axis::expert] > 1 ? all - job_.facts.trained_expert_parameters : all;
  return Bytes(dense / splits / plan.mesh[Axis::pipeline] * exchanged_bytes(plan, job_.assumptions).least());
}

Seconds TimeBounds::least_gradients(const Plan& plan, const ExchangeTimes& exchanges) const {
  const Bytes gradients = shown_gradients(plan);
  if (gradients.value() <= 0) return {};
  const ExchangedBytes each = exchanged_bytes(plan, job_.assumptions);
  const auto by_stage = [&](int stage, int shard_group) {
    Plan sharded = plan;
    sharded.zero_stage = stage;
    sharded.shard_group = shard_group;
    return gradient_exchange(sharded, exchanges, each, {replica_axes, gradients.value() / each.least()}).total();
  };
  const auto is_measured = [&](Family axes) { return exchanges.is_measured(axes, Purpose::gradient); };
  // Measured times may decrease as messages grow.
  const auto at_least = [&](Bytes message, Family axes) {
    return 2.0 * exchanges.least_time(message, axes, Purpose::gradient);
  };
  // For any ZeRO stage, exchanges take at least as long as the exchanges of stage 0 or of stage 1.
  Seconds least = is_measured(replica_axes) ? at_least(gradients, replica_axes) : min(by_stage(0, 0), by_stage(1, 0));
  // The shard groups of the plan, or those that a search tries with ZeRO-3.
  const int data = plan.mesh[Axis::data];
  const GroupSizes searched = searched_groups(job_.machine, plan.mesh);
  for (const int size : {searched[0], searched[1], searched[2], plan.shard_group}) {
    if (size <= 1 || size >= data || data % size != 0) continue;
    const Family shards = shard_axes(replica_axes, size), copies = copy_axes(size);
    const bool measured = is_measured(shards) || is_measured(copies);
    const Bytes shard = gradients / (plan.mesh.replicas() * size / data);
    least = min(least, measured ? at_least(gradients, shards) + at_least(shard, copies)
                                : by_stage(size == plan.shard_group ? 1 : 3, size));
  }
  return least;
}

}  // namespace ddl
