#include "estimator/exchanges/gradient_exchange.hpp"

#include <algorithm>
#include <cmath>

namespace ddl {
namespace {

/// Bytes of one bucket of gradients that is exchanged as soon as it is complete: PyTorch's DistributedDataParallel takes
/// 25 MiB (its `bucket_cap_mb`) [Li et al., VLDB 2020].
constexpr Bytes gradient_bucket = 25_MiB;

}  // namespace

bool layers_gradients(const Software& software, const Assumptions& assumptions, const Plan& plan) {
  constexpr Family data = family_bit(Axis::data);
  const Family family = plan.mesh.family();
  return assumptions.learned && software.layered_gradients_in_hybrids && (family & data) != 0 && family != data;
}

GradientExchange gradient_exchange(const Plan& plan, const ExchangePrices& exchanges, double parameters, double messages) {
  const Bytes message(parameters * item_bytes(plan.precision));
  if (parameters <= 0 || plan.mesh.replicas() == 1) return {};
  GradientExchange exchange;
  if (plan.zero_stage == 0) {
    const ExchangePrices::Choice choice = exchanges.allreduce(message / messages, replica_axes, Purpose::gradient);
    exchange.of_gradients = choice.time * messages;
    exchange.algorithm = choice.algorithm;
    exchange.busy = choice.busy;
    return exchange;
  }
  // ZeRO-1 and -2: gradients are reduce-scattered, updated weights gathered: the volume of an Allreduce. Where gradients are
  // sharded they are scattered after every micro-batch. ZeRO-3 gathers the weights before forward and again before backward
  // of every micro-batch [Rajbhandari et al., SC'20].
  const auto priced = exchanges.way_of(Collective::reduce_scatter, message, replica_axes, Purpose::gradient);
  const Seconds scatter = priced.time;
  exchange.busy = priced.busy;
  const Seconds gather = exchanges.price(Collective::allgather, message, replica_axes, Purpose::gradient);
  const double micro_batches = static_cast<double>(plan.micro_batches);
  if (plan.zero_stage >= 2) exchange.rounds = micro_batches;
  exchange.of_gradients = scatter * exchange.rounds;
  if (plan.zero_stage == 3) {
    exchange.gathers = 2.0 * micro_batches;
    exchange.of_weights = gather * exchange.gathers;
  } else {
    exchange.after_update = gather;
  }
  return exchange;
}

bool overlaps_gradients(const Coefficients& coefficients, const Assumptions& assumptions) {
  const OverlapSlowdown& slowdown = coefficients.overlap;
  const bool pays = 1.0 / slowdown.kernels + 1.0 / slowdown.exchange >= 1.0;
  return assumptions.overlap && coefficients.software.overlaps_gradients.value_or(pays);
}

Seconds exposed(const GradientExchange& exchange, Seconds computing, Seconds idle, Bytes message,
                const OverlapSlowdown& slowdown) {
  const double buckets = std::max(1.0, std::ceil(message / gradient_bucket));
  const Seconds ends = exchange.of_gradients / (buckets * exchange.rounds) +
                       exchange.of_weights / (buckets * std::max(1.0, exchange.gathers));
  const double all = buckets * (exchange.rounds + exchange.gathers);
  const Seconds beside = computing * ((all - 1) / all);
  // While the device waits for its host nothing slows the exchange down, nor does it anything else.
  const Seconds alone = idle * ((all - 1) / all);
  const Seconds hidden = max(exchange.of_gradients + exchange.of_weights - ends - alone, Seconds{});
  // Both run until one of them is done, kernels at 1/s_c of their speed and the exchange at 1/s_x; what is left of the other
  // then runs alone.
  const Seconds both = min(beside * slowdown.kernels, hidden * slowdown.exchange);
  return ends + (hidden + both * (1.0 - 1.0 / slowdown.kernels - 1.0 / slowdown.exchange));
}

}  // namespace ddl
