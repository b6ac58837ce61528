#include "estimator/step/updates.hpp"

#include <algorithm>
#include <utility>

#include "estimator/exchanges/collectives/times.hpp"
#include "estimator/exchanges/gradient_exchange.hpp"
#include "estimator/exchanges/synchronization.hpp"
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

/// Returns the bytes per parameter that kernels of a step read and write to update outer weights, or to mix weights of
/// workers. `steps`: steps between two exchanges.
double mixing_bytes(const Assumptions& assumptions, const Plan& plan, double steps) {
  constexpr double word = 4;
  switch (synchronization_of(plan, assumptions)) {
    case Synchronization::gossip:
    case Synchronization::async_gossip: {
      // A worker reads its own and a neighbor's weights, and writes the mean.
      const bool is_even = synchronization_of(plan, assumptions) == Synchronization::gossip;
      return 3 * word * (is_even ? std::min(assumptions.neighbors, plan.mesh[Axis::data] - 1.0) : 1.0) / steps;
    }
    case Synchronization::stale:
    case Synchronization::async:
      // Between two exchanges, each step adds its gradients to their sum.
      return steps > 1 ? 3 * word : 0;
    case Synchronization::sync:
      break;
  }
  // The outer update reads outer weights, momentum and weights, and writes all three in fp32.
  return steps > 1 ? 6 * word / (plan.zero_stage > 0 ? plan.shards() : 1) / steps : 0;
}

/// Returns the time of the kernels that encode and decode the gradients of a rank, that copy them to messages of Allreduces
/// and back, and that mix weights.
Seconds coding_time(const Job& job, const Plan& plan, const std::vector<GradientGroup>& groups) {
  const Assumptions& assumptions = job.assumptions;
  double exchanged = 0;
  for (const GradientGroup& each : groups) {
    if (plan.mesh.product(each.axes) > 1) exchanged += each.parameters;
  }
  if (exchanged <= 0) return {};
  const CompressedGradient compressed = compressed_gradient(
      assumptions, job.facts.factored_share, exchanged_bytes(plan, assumptions).gradient, plan.mesh.replicas());
  const double steps = has_local_steps(plan, assumptions) ? assumptions.local_steps : 1;
  double bytes = exchanged * (compressed.coded / steps + mixing_bytes(assumptions, plan, steps));
  // Each of the two copies reads and writes all gradients. ZeRO-1 sums gradients in the same messages, as
  // ZeroRedundancyOptimizer does in the messages of DistributedDataParallel [PyTorch, zero_redundancy_optimizer.py].
  if (assumptions.copies_gradients && plan.zero_stage <= 1)
    bytes += 4 * exchanged * exchanged_bytes(plan, assumptions, job.facts).gradient / steps;
  if (bytes <= 0 || job.times_whole_layers()) return {};
  const Work work{.flops = exchanged * compressed.flops / steps,
                  .weight_items = bytes / item_bytes(plan.precision),
                  .kind = KernelKind::elementwise};
  return job.kernels.kernel_time(work, Pass::forward, 1, plan.precision);
}

/// Returns the time to gather, in half precision, the matrices that an optimizer updates as a whole. They are gathered among
/// the ranks that split a layer and, with ZeRO, among the ranks that each update some of the matrices [Liu et al., "Muon is
/// scalable for LLM training", arXiv 2502.16982, algorithm 1]. The matrices of other optimizers are exchanged in fp32
/// (matrix_update).
Seconds gathering_time(const Plan& plan, const LayerCosts& own, const ExchangeTimes& exchanges) {
  const double parameters = own[LayerCount::whole_matrices];
  if (parameters <= 0) return {};
  constexpr double half = 2, full = 4;
  Seconds sum{};
  if (plan.mesh.replicas() > 1) {
    if (const double summed = own[LayerCount::summed_items]; summed > 0)
      sum += exchanges.time(Collective::allreduce, Bytes(summed * full), replica_axes, Purpose::gradient);
    // With ZeRO, the gather of weights already contains the updated values.
    if (const double gathered = own[LayerCount::gathered_items]; gathered > 0 && plan.zero_stage == 0)
      sum += exchanges.time(Collective::allgather, Bytes(gathered * full), replica_axes, Purpose::gradient);
  }
  const auto gather = [&](Family axes, double whole) {
    sum += exchanges.time(Collective::allgather, Bytes(whole * half), axes, Purpose::gradient);
  };
  for (const Axis axis : {Axis::tensor, Axis::filter, Axis::channel}) {
    if (plan.mesh[axis] > 1) gather(family_bit(axis), parameters * plan.mesh[axis]);
  }
  if (plan.zero_stage > 0 && plan.shards() > 1)
    gather(plan.shard_copies() > 1 ? shard_axes(replica_axes, plan.shard_group) : replica_axes, parameters);
  return sum;
}

}  // namespace

Seconds optimizer_time(const Plan& plan, const LayerCosts& layers) {
  return plan.zero_stage >= 1 ? layers[LayerTime::sharded_update] * plan.shard_copies() : layers[LayerTime::update];
}

Updates updates_of(const Job& job, const Plan& plan, const LayerCostTable& costs, const std::vector<int>& firsts) {
  const Assumptions& assumptions = job.assumptions;
  // Only filter, channel and spatial splits exchange unsplit weights (Coefficient::unsharded_weight_sync).
  const double splits = static_cast<double>(plan.mesh[Axis::filter]) * plan.mesh[Axis::channel] * plan.mesh[Axis::spatial];
  const Learned& learned = costs.learned();
  const bool with_slopes = costs.has_slopes();
  const ExchangedBytes each = exchanged_bytes(plan, assumptions, job.facts);
  Updates updates;
  updates.slowdown = job.coefficients.overlap;
  if (has_local_steps(plan, assumptions) && assumptions.local_overlap > 0)
    updates.fragments_share = assumptions.local_overlap * assumptions.local_fragments / assumptions.local_steps;
  std::vector<GradientGroup> exchanged;  // gradient groups of the previous stage
  const bool keeps_two_parts = order_of(plan.schedule).keeps_two_parts;
  LayerCosts of_both;  // costs of the two stages of a rank
  for (std::size_t stage = 0; stage + 1 < firsts.size(); ++stage) {
    if (keeps_two_parts) of_both = held_costs(costs, plan, firsts, static_cast<int>(stage));
    const LayerCosts& own = keeps_two_parts ? of_both : costs.between(firsts[stage], firsts[stage + 1]);
    Updates::Stage& result = updates.stages.emplace_back();
    result.update = Term(max(Seconds{}, optimizer_time(plan, own)));
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
    // Only FSDP is known to do this. Measured runs with XLA, and with sharded states of optimizers alone, contradict it
    // (maxtext-a3 and mlperf-bert in published-runs.csv).
    result.exchange.copies_overlap = result.exchange.copies_overlap && assumptions.gathers_units;
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
    if (assumptions.compression != Compression::none || assumptions.local_steps > 1 || assumptions.copies_gradients ||
        has_neighbors(synchronization_of(plan, assumptions)))
      result.update.add(coding_time(job, plan, costs.gradients(plan, own, 1)));
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
    result.after_update.add(gathering_time(plan, own, costs.exchanges()));
    Term& copies = updates.fragments_share > 0 ? result.of_fragments : result.of_copies;
    copies = exchange_term(exchange.of_copies, exchange.copy_startups);
    if (exchange.at_servers > Seconds{}) result.at_servers = exchange_term(exchange.at_servers, Seconds{});
    if (keeps_two_parts && plan.mesh[Axis::pipeline] > 1)
      add_copies_exchange(own, each, costs, with_slopes, result.of_copies);
    if (splits <= 1) continue;
    const double whole = own[LayerCount::whole_parameters] * item_bytes(plan.precision) * 2.0 * (splits - 1.0) / splits;
    result.unsharded_weight_sync.add(Seconds(whole * learned[Coefficient::unsharded_weight_sync]));
    if (with_slopes) result.unsharded_weight_sync.add_slope(Coefficient::unsharded_weight_sync, whole);
  }
  return updates;
}

}  // namespace ddl
