#include "estimator/search/layer_traffic.hpp"

#include <algorithm>
#include <cstddef>
#include <limits>

#include "estimator/choices/plan_choice.hpp"
#include "estimator/layers/exchange_time.hpp"
#include "estimator/layers/overlaps.hpp"
#include "estimator/strategies/context.hpp"
#include "estimator/strategies/expert.hpp"
#include "estimator/strategies/strategy.hpp"

namespace ddl {

namespace {

/// The exchanges of a rank for a sample do not depend on replicas and stages.
Plan without_copies(const Plan& plan) {
  Plan alone = without_batch(split_of(plan));
  alone.mesh.set(Axis::data, 1);
  alone.mesh.set(Axis::pipeline, 1);
  return alone;
}

bool is_gather_or_sum(Collective operation) {
  return operation == Collective::allreduce || operation == Collective::allgather || operation == Collective::reduce_scatter;
}

}  // namespace

template <class Take>
void LayerTraffic::each_exchange(const Plan& alone, const Take& take) const {
  if (alone.mesh.devices() == 1) return;
  const LayerKinds& kinds = tables_.kinds_of(tables_.replicated_layers_of(alone));
  ShardContext context{job_.facts, alone, job_.assumptions, 0, kinds.replicated};
  LayerShard shard;
  for (std::size_t kind = 0; kind < kinds.count.size(); ++kind) {
    context.layer = kinds.representative[kind];
    shard_layer(context, shard);
    for (const Exchange& exchange : shard.exchanges) {
      if (exchange.phase == Phase::gradient || exchange.items <= 0 || exchange.next_to_kernels) continue;
      take(exchange, kinds.count[kind]);
    }
  }
}

const std::vector<LayerTraffic::Equal>& LayerTraffic::exchanges_of(const Plan& plan) const {
  const Plan alone = without_copies(plan);
  const auto known = known_.find(alone);
  if (known != known_.end()) return known->second;
  if (known_.size() >= kept) known_.clear();
  std::vector<Equal>& all = known_[alone];
  each_exchange(alone, [&](const Exchange& exchange, double layers) {
    const auto same = std::find_if(all.begin(), all.end(), [&](const Equal& each) {
      const Exchange& other = each.exchange;
      return other.operation == exchange.operation && other.items == exchange.items && other.axes == exchange.axes &&
             other.purpose == exchange.purpose && other.messages == exchange.messages && other.copies == exchange.copies;
    });
    if (same != all.end()) {
      same->count += layers;
    } else {
      all.push_back({exchange, layers});
    }
  });
  return all;
}

double LayerTraffic::launches_of(const Plan& plan) const {
  const Plan alone = without_copies(plan);
  const auto [known, is_new] =
      launches_.try_emplace({alone.mesh, alone.sequence_parallel, alone.context_exchange, alone.whole_experts}, 0.0);
  double& sum = known->second;
  if (is_new) each_exchange(alone, [&](const Exchange& each, double layers) { sum += each.messages * layers; });
  return sum;
}

Seconds LayerTraffic::time(const Plan& plan, const ExchangeTimes& placed) const {
  const double bytes = samples_per_micro_batch(plan) * item_bytes(plan.precision);
  // All-to-alls of experts may be overlapped with another micro-batch.
  const bool hides = job_.coefficients.software.overlaps_expert_exchanges.value_or(false);
  Seconds sum{};
  for (const Equal& each : exchanges_of(plan)) {
    const Exchange& exchange = each.exchange;
    if (hides && is_of_experts(exchange)) continue;
    sum += exchange_time(job_, placed, exchange, Bytes(exchange.items * bytes)) *
           (exposed_share(job_, exchange, placed.group(exchange.axes)) * each.count);
  }
  return sum;
}

Seconds LayerTraffic::time_of_sample(const Exchange& exchange, double samples, double item,
                                     const ExchangeTimes& placed) const {
  if (!placed.may_be_measured(exchange.axes, exchange.purpose))
    return exchange_time(job_, placed, exchange, Bytes(exchange.items * samples * item)) / samples;
  // Of measured times, only these operations have a bound for each byte.
  if (exchange.copies > 1 || !is_gather_or_sum(exchange.operation)) return {};
  const double times = exchange.operation == Collective::allreduce ? 2 : 1;
  return placed.least_time(Bytes(exchange.items * item), exchange.axes, exchange.purpose) * (times * exchange.messages);
}

Seconds LayerTraffic::time_of_sample(Plan plan, const std::vector<Placement>& placements) const {
  const double samples = samples_per_micro_batch(plan), item = item_bytes(plan.precision);
  const bool hides = job_.coefficients.software.overlaps_expert_exchanges.value_or(false);
  const std::vector<Equal>& exchanges = exchanges_of(plan);
  Seconds least(std::numeric_limits<double>::infinity());
  for (const Placement& placement : placements) {
    plan.placement = placement;
    const ExchangeTimes& placed = tables_.exchanges(plan);
    Seconds sum{};
    for (const Equal& each : exchanges) {
      const Exchange& exchange = each.exchange;
      if (hides && is_of_experts(exchange)) continue;
      sum += time_of_sample(exchange, samples, item, placed) *
             (exposed_share(job_, exchange, placed.group(exchange.axes)) * each.count);
      if (sum >= least) break;
    }
    least = min(least, sum);
  }
  // Products in another order differ by rounding.
  constexpr double rounding = 1 - 1e-9;
  return least * rounding;
}

double LayerTraffic::launches(const Plan& plan) const {
  if (job_.machine.levels.empty()) return 0;
  double least = launches_of(plan);
  if (plan.context_exchange == ContextExchange::ring && plan.mesh[Axis::context] > 1 && may_divide_heads(job_.facts, plan)) {
    Plan heads = plan;
    heads.context_exchange = ContextExchange::ulysses;
    least = std::min(least, launches(heads));
  }
  if (!plan.whole_experts && plan.mesh[Axis::tensor] > 1 && job_.facts.experts > 0) {
    Plan whole = plan;
    whole.whole_experts = whole.sequence_parallel = true;
    if (supports_etp1(job_.facts, whole)) least = std::min(least, launches(whole));
  }
  return least;
}

}  // namespace ddl
