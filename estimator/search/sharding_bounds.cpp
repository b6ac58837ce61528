#include "estimator/search/sharding_bounds.hpp"

#include <algorithm>
#include <limits>

#include "estimator/exchanges/gradient_exchange.hpp"
#include "estimator/search/memory_bounds.hpp"
#include "estimator/strategies/strategy.hpp"

namespace ddl {
namespace {

/// Parameters of a rank whose gradients are summed along the same axes, on average over the stages.
struct Group {
  Family axes = 0;
  double trained = 0, frozen = 0;
};

/// Returns the experts' parameters, and all others. Experts are left out if a tensor split may divide them in another way.
std::vector<Group> groups_of(const ModelFacts& facts, const Mesh& mesh) {
  const double parts = mesh.product(weight_axes) * mesh[Axis::pipeline];
  const auto group = [&](Family axes, double all, double trained) {
    return Group{axes, trained / parts, (all - trained) / parts};
  };
  if (mesh[Axis::expert] == 1) return {group(replica_axes, facts.parameters, facts.trained_parameters)};
  std::vector<Group> groups{group(replica_axes, facts.parameters - facts.expert_parameters,
                                  facts.trained_parameters - facts.trained_expert_parameters)};
  if (mesh[Axis::tensor] == 1) {
    const double experts = mesh[Axis::expert];
    groups.push_back(group(replica_axes & ~family_bit(Axis::expert), facts.expert_parameters / experts,
                           facts.trained_expert_parameters / experts));
  }
  return groups;
}

/// Returns a lower bound of the time in which a rank gathers weights and scatters gradients in a step.
Seconds exchanges_of(const Job& job, const Plan& plan, const ExchangeTimes& exchanges) {
  const ExchangedBytes each = exchanged_bytes(plan, job.assumptions, job.facts);
  // An Allgather of coded gradients may take less time than the bound of a scatter.
  if (plan.zero_stage < 2 || each.is_once_a_step || each.synchronization != Synchronization::sync || each.local_steps > 1 ||
      each.way != GradientWay::allreduce)
    return {};
  const auto micro_batches = static_cast<double>(plan.micro_batches);
  Seconds sum{};
  for (const Group& group : groups_of(job.facts, plan.mesh)) {
    const Family shards = plan.shard_copies() > 1 ? shard_axes(group.axes, plan.shard_group) : group.axes;
    const auto least = [&](double bytes, Family axes) {
      return exchanges.least_time(Bytes(bytes), axes, Purpose::gradient);
    };
    sum += least(group.trained * each.gradient, shards) * (each.is_scattered_once ? 1.0 : micro_batches);
    if (plan.zero_stage < 3) continue;
    const double weights = group.trained * each.weight + group.frozen * each.frozen;
    const double gathers = (plan.reshard && each.has_backward ? 2.0 : 1.0) * micro_batches;
    const bool is_in_groups = plan.second_shards() > 0 && plan.secondary_shards < plan.mesh[Axis::data];
    const Family near = is_in_groups ? shard_axes(group.axes, plan.secondary_shards) : shards;
    sum += least(weights, shards) + least(weights, near) * (gathers - 1);
  }
  return sum;
}

}  // namespace

const std::vector<Plan>& ShardingBounds::ways(const Plan& plan, Bytes limit) {
  if (limit_ && *limit_ == limit && mesh_ == plan.mesh) return ways_;
  mesh_ = plan.mesh;
  limit_ = limit;
  ways_.clear();
  // Shards add up to the whole except for rounding.
  constexpr double rounding = 1 - 1e-9;
  Plan way = plan;
  const auto values = [&](PlanChoice choice) { return space_.values_of(row_of(choice), plan); };
  const std::vector<int> groups = values(PlanChoice::shard_group), seconds = values(PlanChoice::secondary_shards);
  for (const int stage : values(PlanChoice::zero)) {
    for (const int group : groups) {
      for (const int second : seconds) {
        for (const int kept : values(PlanChoice::reshard)) {
          row_of(PlanChoice::zero).set(way, stage);
          row_of(PlanChoice::shard_group).set(way, group);
          row_of(PlanChoice::secondary_shards).set(way, second);
          row_of(PlanChoice::reshard).set(way, kept);
          if (parameters_lower_bound(estimator_.job(), way) * rounding <= limit) ways_.push_back(way);
        }
      }
    }
  }
  return ways_;
}

Seconds ShardingBounds::least(const Plan& plan, Bytes limit) {
  const Job& job = estimator_.job();
  const bool may_offload = space_.values_of(row_of(PlanChoice::offload), plan).size() > 1;
  if (may_offload || plan.mesh.replicas() == 1 || job.machine.levels.empty() || job.assumptions.memory_reuse ||
      job.assumptions.sparse_gradients || !job.facts.tables.empty() || job.times_whole_layers())
    return {};
  Seconds least(std::numeric_limits<double>::infinity());
  for (Plan way : ways(plan, limit)) {
    way.micro_batches = plan.micro_batches;
    way.placement = plan.placement;
    least = min(least, exchanges_of(job, way, estimator_.tables().exchanges(way)));
    if (least == Seconds{}) return {};
  }
  // Sums in another order differ by rounding.
  constexpr double rounding = 1 - 1e-9;
  return is_finite(least) ? least * rounding : Seconds{};
}

}  // namespace ddl
