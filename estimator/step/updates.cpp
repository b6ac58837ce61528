#include "estimator/step/updates.hpp"

#include <algorithm>
#include <utility>

#include "estimator/exchanges/collectives/times.hpp"
#include "estimator/exchanges/gradient_exchange.hpp"
#include "estimator/layers/overlaps.hpp"
#include "estimator/schedules/schedule.hpp"
#include "estimator/step/host_traffic.hpp"
#include "estimator/step/tasks.hpp"

namespace ddl {
namespace {

/// Adds the gradient exchange of DualPipe, where two ranks of a pipeline have the same layers and
/// sum their gradients with an Allreduce.
void add_copies_exchange(const LayerCosts& own, const ExchangedBytes& each, const LayerCostTable& costs, bool with_slopes,
                         Term& term) {
  const Link link = costs.exchanges().neighbour_link(family_bit(Axis::pipeline), Purpose::pipeline).link;
  const Seconds time = ring_allreduce_time(Bytes(own[LayerCount::trained] * each.gradient), 2, link);
  if (with_slopes) {
    // A term has fitted factors of only one purpose.
    term.add_exchange(path_coefficients(Purpose::gradient), time, ring_allreduce_time(Bytes{}, 2, link), costs.learned());
  } else {
    term.add(time);
  }
}

}  // namespace

Updates updates_of(const Job& job, const Plan& plan, const LayerCostTable& costs, const std::vector<int>& firsts) {
  const Assumptions& assumptions = job.assumptions;
  // Only filter, channel and spatial splits exchange unsplit weights (Coefficient::unsharded_weight_sync).
  const double splits = static_cast<double>(plan.mesh[Axis::filter]) * plan.mesh[Axis::channel] * plan.mesh[Axis::spatial];
  const Learned& learned = costs.learned();
  const bool with_slopes = costs.has_slopes();
  const ExchangedBytes each = exchanged_bytes(plan, assumptions, job.facts);
  Updates updates;
  updates.slowdown = job.coefficients.overlap;
  std::vector<GradientGroup> exchanged;  // gradient groups of the previous stage
  for (std::size_t stage = 0; stage + 1 < firsts.size(); ++stage) {
    const LayerCosts own = held_costs(costs, plan, firsts, static_cast<int>(stage));
    Updates::Stage& result = updates.stages.emplace_back();
    result.update = Term(max(
        Seconds{}, plan.zero_stage >= 1 ? own[LayerTime::sharded_update] * plan.shard_copies() : own[LayerTime::update]));
    if (plan.offload != Offload::none) {
      const double trained = plan.zero_stage >= 1 ? own[LayerCount::trained] / plan.shards() : own[LayerCount::trained];
      result.update = Term(max(result.update.time(), host_update_time(job, plan, trained)));
    }
    std::vector<GradientGroup> groups =
        costs.gradients(plan, own, held_blocks(job.facts, plan, firsts, static_cast<int>(stage)));
    if (stage == 0 || groups != exchanged) {
      result.exchange = exchange_of(costs, plan, each, groups, with_slopes);
      exchanged = std::move(groups);
    } else {
      result.exchange = updates.stages[stage - 1].exchange;
    }
    const GradientExchange& exchange = result.exchange;
    result.parts = overlapped_parts(exchange, Bytes(own.exchanged_parameters(plan.zero_stage == 3) * each.gradient));
    const auto exchange_term = [&](Seconds time, Seconds startups) {
      Term term;
      if (!with_slopes) {
        term.add(time);
      } else {
        term.add_exchange(path_coefficients(Purpose::gradient), time, startups, learned);
      }
      return term;
    };
    result.of_gradients = exchange_term(exchange.of_gradients, exchange.gradient_startups);
    result.of_weights = exchange_term(exchange.of_weights, exchange.weight_startups);
    if (plan.offload == Offload::weights) {
      // Offloaded weights are copied from the host once for forward and once for backward of each
      // micro-batch. Gathers among ranks are additional.
      const double gathers = (plan.zero_stage == 3 && !plan.reshard ? 1.0 : 2.0) * static_cast<double>(plan.micro_batches);
      const double held = plan.zero_stage == 3 ? own[LayerCount::parameters] / plan.shards() : own[LayerCount::parameters];
      result.of_weights.add(weights_from_host(job, plan, held) * gathers);
      result.exchange.gathers = std::max(result.exchange.gathers, gathers);
    }
    result.window = window_of_gradients(job.coefficients, assumptions, result.exchange.gathers > 0);
    result.gather_window = window_of_gathers(job.coefficients, assumptions);
    result.after_update = exchange_term(exchange.after_update, exchange.update_startups);
    result.of_copies = exchange_term(exchange.of_copies, exchange.copy_startups);
    if (order_of(plan.schedule).keeps_two_parts && plan.mesh[Axis::pipeline] > 1)
      add_copies_exchange(own, each, costs, with_slopes, result.of_copies);
    if (splits <= 1) continue;
    const double whole = own[LayerCount::whole_parameters] * item_bytes(plan.precision) * 2.0 * (splits - 1.0) / splits;
    result.unsharded_weight_sync.add(Seconds(whole * learned[Coefficient::unsharded_weight_sync]));
    if (with_slopes) result.unsharded_weight_sync.add_slope(Coefficient::unsharded_weight_sync, whole);
  }
  return updates;
}

}  // namespace ddl
