#include "estimator/step/updates.hpp"

#include <algorithm>
#include <utility>

#include "estimator/exchanges/collectives/times.hpp"
#include "estimator/exchanges/gradient_exchange.hpp"
#include "estimator/exchanges/synchronization.hpp"
#include "estimator/layers/overlaps.hpp"
#include "estimator/layers/zero_parts.hpp"
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

/// Layers that one stage of a plan holds, with one ZeRO stage.
struct HeldLayers {
  const Plan& plan;  ///< with this ZeRO stage for all layers
  const LayerCosts& own;
  double blocks = 0;  ///< number of the model's blocks among the layers
};

/// Computes the work that is done once per step.
class UpdatesMaker {
 public:
  UpdatesMaker(const Job& job, const Plan& plan, const LayerCostTable& costs, const std::vector<int>& firsts)
      : job_(job), plan_(plan), costs_(costs), firsts_(firsts), each_(exchanged_bytes(plan, job.assumptions, job.facts)) {}

  Updates make() {
    const Assumptions& assumptions = job_.assumptions;
    updates_.slowdown = job_.coefficients.overlap;
    if (has_local_steps(plan_, assumptions) && assumptions.local_overlap > 0)
      updates_.fragments_share = assumptions.local_overlap * assumptions.local_fragments / assumptions.local_steps;
    const bool keeps_two_parts = order_of(plan_.schedule).keeps_two_parts;
    LayerCosts of_both;  // costs of the two stages of a rank
    for (std::size_t stage = 0; stage + 1 < firsts_.size(); ++stage) {
      if (stage > 0 && !keeps_two_parts && is_like_stage_before(stage)) {
        updates_.stages.push_back(Updates::Stage(updates_.stages.back()));
        continue;
      }
      if (keeps_two_parts) of_both = held_costs(costs_, plan_, firsts_, static_cast<int>(stage));
      const LayerCosts& own = keeps_two_parts ? of_both : costs_.between(firsts_[stage], firsts_[stage + 1]);
      Updates::Stage& result = updates_.stages.emplace_back();
      if (plan_.zero_segments.empty()) {
        add_held({plan_, own, held_blocks(job_.facts, plan_, firsts_, static_cast<int>(stage))}, result);
      } else {
        for (const ZeroPart& part : zero_parts(plan_, firsts_[stage], firsts_[stage + 1])) {
          const LayerCosts costs = costs_of(costs_, part);
          add_held({part.plan, costs, blocks_of(job_.facts, part)}, result);
        }
      }
      complete(own, result);
      if (keeps_two_parts && plan_.mesh[Axis::pipeline] > 1)
        add_copies_exchange(own, each_, costs_, costs_.has_slopes(), result.of_copies);
    }
    return std::move(updates_);
  }

 private:
  [[nodiscard]] bool is_like_stage_before(std::size_t stage) const {
    return plan_.zero_segments.empty() && have_equal_layers(costs_.kinds().runs, {firsts_[stage - 1], firsts_[stage]},
                                                            {firsts_[stage], firsts_[stage + 1]});
  }
  /// Adds the update and the exchanges of layers to those of a stage.
  void add_held(const HeldLayers& held, Updates::Stage& result) {
    const Plan& plan = held.plan;
    const LayerCosts& own = held.own;
    const Assumptions& assumptions = job_.assumptions;
    Seconds update = max(Seconds{}, optimizer_time(plan, own));
    if (plan.offload != Offload::none) {
      const double trained = plan.zero_stage >= 1 ? own[LayerCount::trained] / plan.shards() : own[LayerCount::trained];
      update = max(update, host_update_time(job_, plan, trained));
    }
    if (assumptions.compression != Compression::none || assumptions.local_steps > 1 || assumptions.copies_gradients ||
        has_neighbors(synchronization_of(plan, assumptions)))
      update += coding_time(job_, plan, costs_.gradients(plan, own, 1));
    result.update.add(update);
    const ExchangedBytes each = plan_.zero_segments.empty() ? each_ : exchanged_bytes(plan, assumptions, job_.facts);
    GradientExchange exchange = exchange_of_held(held, each);
    // Only FSDP is known to do this. Measured runs with XLA, and with sharded states of optimizers alone, contradict it
    // (maxtext-a3 and mlperf-bert in published-runs.csv).
    exchange.copies_overlap = exchange.copies_overlap && assumptions.gathers_units;
    const ExchangeParts parts =
        overlapped_parts(exchange, Bytes(own.exchanged_parameters(plan.zero_stage == 3) * each.gradient));
    if (plan.offload == Offload::weights) {
      // Offloaded weights are copied from the host once for forward and once for backward of each
      // micro-batch. Gathers among ranks are additional.
      const double gathers = (plan.zero_stage == 3 && !plan.reshard ? 1.0 : 2.0) * static_cast<double>(plan.micro_batches);
      const double kept = plan.zero_stage == 3 ? own[LayerCount::parameters] / plan.shards() : own[LayerCount::parameters];
      result.of_weights.add(weights_from_host(job_, plan, kept) * gathers);
      exchange.gathers = std::max(exchange.gathers, gathers);
    }
    result.after_update.add(gathering_time(plan, own, costs_.exchanges()));
    const bool is_first = result.exchange.total() <= Seconds{};
    result.parts = is_first ? parts : with_more(result.parts, parts, exchange);
    result.exchange = is_first ? exchange : one_after_other(result.exchange, exchange);
  }

  /// Returns the exchange of layers. Equal stages follow each other, so the last exchange is remembered.
  [[nodiscard]] GradientExchange exchange_of_held(const HeldLayers& held, const ExchangedBytes& each) {
    std::vector<GradientGroup> groups = costs_.gradients(held.plan, held.own, held.blocks);
    if (!has_last_ || groups != last_groups_ || held.plan.zero_stage != last_zero_) {
      last_ = exchange_of(costs_, held.plan, each, groups, costs_.has_slopes());
      last_groups_ = std::move(groups);
      last_zero_ = held.plan.zero_stage;
      has_last_ = true;
    }
    return last_;
  }

  /// Returns the exchanges of layers with different ZeRO stages. Gradients that are exchanged once per step add to the last
  /// one of the exchanges that other layers have for each micro-batch: the number of rounds is that with which an equal part
  /// of the time belongs to each.
  [[nodiscard]] static GradientExchange one_after_other(GradientExchange sum, const GradientExchange& more) {
    const Seconds of_last = sum.of_gradients / sum.rounds + more.of_gradients / more.rounds;
    sum.add(more);
    if (of_last > Seconds{}) sum.rounds = sum.of_gradients / of_last;
    return sum;
  }
  [[nodiscard]] static ExchangeParts with_more(ExchangeParts sum, const ExchangeParts& more,
                                               const GradientExchange& of_more) {
    if (of_more.of_gradients > Seconds{}) sum.gradients += more.gradients;
    if (of_more.of_weights + of_more.after_update > Seconds{}) sum.weights += more.weights;
    return sum;
  }

  [[nodiscard]] Term exchange_term(Seconds time, Seconds startups) const {
    Term term;
    if (!costs_.has_slopes()) {
      term.add(time);
    } else {
      term.add_exchange(path_coefficients(Purpose::gradient), time, startups, costs_.learned());
    }
    return term;
  }

  /// Computes the terms of a stage from its exchange. `own`: the costs of all its layers.
  void complete(const LayerCosts& own, Updates::Stage& result) {
    const GradientExchange& exchange = result.exchange;
    const Seconds from_host = result.of_weights.time(), gathered_after = result.after_update.time();
    result.of_gradients = exchange_term(exchange.of_gradients, exchange.gradient_startups);
    result.of_weights = exchange_term(exchange.of_weights, exchange.weight_startups);
    result.of_weights.add(from_host);
    result.window = window_of_gradients(job_.coefficients, job_.assumptions, exchange.gathers > 0);
    result.gather_window = window_of_gathers(job_.coefficients, job_.assumptions);
    result.after_update = exchange_term(exchange.after_update, exchange.update_startups);
    result.after_update.add(gathered_after);
    Term& copies = updates_.fragments_share > 0 ? result.of_fragments : result.of_copies;
    copies = exchange_term(exchange.of_copies, exchange.copy_startups);
    if (exchange.at_servers > Seconds{}) result.at_servers = exchange_term(exchange.at_servers, Seconds{});
    // Only filter, channel and spatial splits exchange unsplit weights (Coefficient::unsharded_weight_sync).
    const double splits =
        static_cast<double>(plan_.mesh[Axis::filter]) * plan_.mesh[Axis::channel] * plan_.mesh[Axis::spatial];
    if (splits <= 1) return;
    const double whole = own[LayerCount::whole_parameters] * item_bytes(plan_.precision) * 2.0 * (splits - 1.0) / splits;
    result.unsharded_weight_sync.add(Seconds(whole * costs_.learned()[Coefficient::unsharded_weight_sync]));
    if (costs_.has_slopes()) result.unsharded_weight_sync.add_slope(Coefficient::unsharded_weight_sync, whole);
  }

  const Job& job_;
  const Plan& plan_;
  const LayerCostTable& costs_;
  const std::vector<int>& firsts_;
  ExchangedBytes each_;  ///< bytes of a plan without ZeRO segments
  Updates updates_;
  GradientExchange last_;
  std::vector<GradientGroup> last_groups_;
  int last_zero_ = 0;
  bool has_last_ = false;
};

}  // namespace

Seconds optimizer_time(const Plan& plan, const LayerCosts& layers) {
  return plan.zero_stage >= 1 ? layers[LayerTime::sharded_update] * plan.shard_copies() : layers[LayerTime::update];
}

Seconds optimizer_time(const Plan& plan, const LayerCostTable& costs, const LayerRange& layers) {
  Seconds sum{};
  for (const ZeroPart& part : zero_parts(plan, layers.first, layers.last))
    sum += optimizer_time(part.plan, costs_of(costs, part));
  return sum;
}

Updates updates_of(const Job& job, const Plan& plan, const LayerCostTable& costs, const std::vector<int>& firsts) {
  return UpdatesMaker(job, plan, costs, firsts).make();
}

}  // namespace ddl
