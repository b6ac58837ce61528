#include "estimator/exchanges/gradient_exchange.hpp"

#include "estimator/exchanges/synchronization.hpp"
#include "estimator/inputs/base_weights.hpp"

namespace ddl {
namespace {

/// The bytes of a difference of weights, which ranks or shard groups exchange after local steps.
constexpr double difference_bytes = 4;

}  // namespace

bool layers_gradients(const Software& software, const Assumptions& assumptions, const Plan& plan) {
  constexpr Family data = family_bit(Axis::data);
  const Family family = plan.mesh.family();
  return assumptions.learned && software.layered_gradients_in_hybrids && (family & data) != 0 && family != data;
}

void GradientExchange::add(const GradientExchange& other) {
  if (other.total() > total()) {
    algorithm = other.algorithm;
    bottleneck = other.bottleneck;
    measured = other.measured;
  }
  of_gradients += other.of_gradients;
  of_weights += other.of_weights;
  after_update += other.after_update;
  of_copies += other.of_copies;
  copies_overlap = copies_overlap || other.copies_overlap;
  at_servers += other.at_servers;
  rounds = std::max(rounds, other.rounds);
  messages = std::max(messages, other.messages);
  gather_messages = std::max(gather_messages, other.gather_messages);
  gathers = std::max(gathers, other.gathers);
  gradient_startups += other.gradient_startups;
  weight_startups += other.weight_startups;
  update_startups += other.update_startups;
  copy_startups += other.copy_startups;
}

bool holds_whole(const Plan& plan, const Assumptions& assumptions) {
  return assumptions.gathers_units && plan.mesh[Axis::pipeline] > 1 && plan.zero_stage >= 2 && plan.shards() > 1 &&
         plan.offload == Offload::none;
}

bool sums_whole(const Plan& plan, const Assumptions& assumptions) {
  const bool accumulates = assumptions.accumulates_whole && assumptions.gathers_units && plan.mesh[Axis::pipeline] == 1;
  return holds_whole(plan, assumptions) ||
         (accumulates && plan.micro_batches > 1 && plan.zero_stage >= 2 && plan.shards() > 1);
}

ExchangedBytes exchanged_bytes(const Plan& plan, const Assumptions& assumptions) {
  const double item = item_bytes(plan.precision);
  if (!is_mixed(plan.precision)) return {item, item, item};
  const MixedPrecision mixed = assumptions.mixed_precision;
  const GradientSums own =
      mixed == MixedPrecision::half_gradients || mixed == MixedPrecision::pure ? GradientSums::half : GradientSums::full;
  const bool full = assumptions.gradient_sums.value_or(own) == GradientSums::full;
  // With autocast, the weights are stored in 4 bytes.
  const double weight = mixed == MixedPrecision::autocast ? 4 : has_primary_fp8(plan, assumptions) ? 1 : item;
  return {full ? 4 : item, weight, weight};
}

ExchangedBytes exchanged_bytes(const Plan& plan, const Assumptions& assumptions, const ModelFacts& facts) {
  ExchangedBytes each = exchanged_bytes(plan, assumptions);
  const CompressedGradient compressed =
      compressed_gradient(assumptions, facts.factored_share, each.gradient, plan.mesh.replicas());
  each.gradient = compressed.sent;
  each.way = compressed.way;
  each.synchronization = synchronization_of(plan, assumptions);
  each.servers = assumptions.parameter_servers;
  each.neighbors = assumptions.neighbors;
  each.has_backward = facts.trained_parameters > 0;
  each.is_once_a_step = holds_whole(plan, assumptions);
  each.is_scattered_once = sums_whole(plan, assumptions);
  if (has_local_steps(plan, assumptions)) {
    each.local_steps = assumptions.local_steps;
    each.local_fragments = assumptions.local_fragments;
    // Ranks exchange the differences of their weights in fp32.
    if (plan.zero_stage == 0 && assumptions.compression == Compression::none) each.gradient = difference_bytes;
  }
  const double frozen = facts.parameters - facts.trained_parameters;
  if (!assumptions.base || frozen <= 0) return each;
  // Other frozen weights, such as embeddings and norms, are in half precision if precision is mixed, else in the plan's
  // precision.
  const double other = is_mixed(plan.precision) ? 2 : item_bytes(plan.precision);
  each.frozen =
      (base_item_bytes(*assumptions.base) * facts.base_parameters + other * (frozen - facts.base_parameters)) / frozen;
  return each;
}

Bytes gathered_weights(const Plan& plan, const ExchangedBytes& each, const GradientGroup& group) {
  return Bytes(group.parameters * each.weight + (plan.zero_stage == 3 ? group.frozen * each.frozen : 0.0));
}

void divide_into_messages(const Software& software, const Assumptions& assumptions, const Plan& plan, double blocks,
                          GradientGroup& group) {
  if (assumptions.ring_only || group.parameters + group.frozen <= 0) return;
  const double chunks = std::max(1, plan.virtual_stages), units = std::max(1.0, blocks);
  // The gradients of each model chunk are separate messages.
  const auto divided = [&](double all, double one) { return chunks * std::max(1.0, std::ceil(all / chunks / one)); };
  const bool is_sharded = plan.zero_stage > 0 && (group.axes & replica_axes) != 0;
  const bool in_blocks = is_sharded && plan.zero_stage == 3;
  if (in_blocks) group.gathers = units;
  group.is_divided = in_blocks;
  if (software.bucket_parameters) {
    // Megatron-LM makes one message of gradients that are exchanged after backward.
    if (!software.overlaps_gradients.value_or(true)) return;
    const double ranks = plan.mesh.product(group.axes);
    const double one = std::max(*software.bucket_parameters, software.bucket_parameters_per_rank.value_or(0) * ranks);
    group.messages = divided(group.parameters, one);
    if (is_sharded && !in_blocks) group.gathers = group.messages;
  } else if (is_sharded && plan.zero_stage >= 2) {
    group.messages = units;
  } else if (software.gradient_bucket && *software.gradient_bucket > 0) {
    group.messages = divided(group.parameters * exchanged_bytes(plan, assumptions).gradient, *software.gradient_bucket);
    if (is_sharded) group.gathers = group.messages;
  } else {
    return;
  }
  group.is_divided = true;
}

GradientExchange gradient_exchange(const Plan& plan, const ExchangeTimes& exchanges, const ExchangedBytes& each,
                                   std::span<const GradientGroup> groups, bool with_startups) {
  GradientExchange all;
  for (const GradientGroup& group : groups) all.add(gradient_exchange(plan, exchanges, each, group, with_startups));
  return all;
}

namespace {

/// Adds the Allreduce of a group whose ranks all keep whole gradients. `message`: bytes of all gradients.
void add_allreduce(const ExchangeTimes& exchanges, const GradientGroup& group, Bytes message, bool with_startups,
                   GradientExchange& exchange) {
  const Bytes one = message / group.messages;
  const ExchangeTimes::Choice choice = exchanges.allreduce(one, group.axes, Purpose::gradient);
  exchange.of_gradients = choice.time * group.messages;
  exchange.algorithm = choice.name();
  exchange.measured = choice.measured;
  exchange.bottleneck = choice.bottleneck;
  if (with_startups) {
    exchange.gradient_startups =
        exchanges.startup(Collective::allreduce, one, group.axes, Purpose::gradient) * group.messages;
  }
}

/// Adds the exchange of compressed gradients that cannot be summed inside a collective.
void add_coded_exchange(const ExchangeTimes& exchanges, const GradientGroup& group, GradientWay way, double ranks,
                        Bytes message, bool with_startups, GradientExchange& exchange) {
  const Bytes one = message / group.messages;
  const Bytes all = way == GradientWay::allgather ? one * ranks : one;
  const auto gathered = exchanges.fastest(Collective::allgather, all, group.axes, Purpose::gradient);
  Seconds time = gathered.time;
  if (way == GradientWay::two_phases) time += exchanges.time(Collective::all_to_all, one, group.axes, Purpose::gradient);
  exchange.of_gradients = time * group.messages;
  exchange.algorithm = gathered.algorithm;
  exchange.bottleneck = gathered.bottleneck;
  if (!with_startups) return;
  Seconds startups = exchanges.startup(Collective::allgather, all, group.axes, Purpose::gradient);
  if (way == GradientWay::two_phases)
    startups += exchanges.startup(Collective::all_to_all, one, group.axes, Purpose::gradient);
  exchange.gradient_startups = startups * group.messages;
}

/// Moves the exchange of gradients to the end of several local steps, and divides it by their number.
void exchange_rarely(double steps, GradientExchange& exchange) {
  exchange.of_copies += exchange.of_gradients;
  exchange.copy_startups += exchange.gradient_startups;
  exchange.of_gradients = exchange.gradient_startups = Seconds{};
  exchange.of_copies = exchange.of_copies / steps;
  exchange.copy_startups = exchange.copy_startups / steps;
}

/// The exchange of one worker that waits for no barrier. With parameter servers, it pushes gradients and pulls weights,
/// which do not overlap with its kernels. With neighbors, it sends its weights to one neighbor after the other while it
/// computes.
void add_worker_exchange(const ExchangeTimes& exchanges, const GradientGroup& group, const ExchangedBytes& each,
                         double workers, bool with_startups, GradientExchange& exchange) {
  const SharedLink shared = exchanges.neighbour_link(group.axes, Purpose::gradient);
  const Link& link = shared.link;
  exchange.bottleneck = shared.bottleneck;
  const Bytes weights(group.parameters * each.weight), gradients(group.parameters * each.gradient);
  if (has_servers(each.synchronization)) {
    const Bytes both = weights + gradients;
    exchange.algorithm = to_string(AllreduceAlgorithm::parameter_server);
    exchange.of_copies = (2.0 * link.alpha + both * link.beta) / each.local_steps;
    exchange.at_servers = both * link.beta * (workers / each.servers) / each.local_steps;
    if (with_startups) exchange.copy_startups = 2.0 * link.alpha / each.local_steps;
    return;
  }
  const double messages = each.synchronization == Synchronization::gossip ? std::min(each.neighbors, workers - 1) : 1.0;
  exchange.algorithm = gossip_exchange;
  exchange.of_weights = (link.alpha + weights * link.beta) * messages / each.local_steps;
  exchange.gathers = 1;
  exchange.gather_messages = messages;
  if (with_startups) exchange.weight_startups = link.alpha * messages / each.local_steps;
}

/// Gradients of a group whose ranks all get the whole sums. `message`: bytes of the gradients of one rank, as they are sent.
struct WholeGradients {
  const GradientGroup& group;
  const ExchangedBytes& each;
  Bytes message{};
  double ranks = 1;
};
void add_whole_exchange(const ExchangeTimes& exchanges, const WholeGradients& whole, bool with_startups,
                        GradientExchange& exchange) {
  GradientGroup group = whole.group;
  if (whole.each.synchronization != Synchronization::sync && (group.axes & family_bit(Axis::data)) != 0) {
    add_worker_exchange(exchanges, group, whole.each, whole.ranks, with_startups, exchange);
    return;
  }
  const bool is_rare = whole.each.local_steps > 1 && (group.axes & family_bit(Axis::data)) != 0;
  if (is_rare) group.messages = std::max(group.messages, whole.each.local_fragments);
  const GradientWay way = whole.each.way;
  if (way == GradientWay::allreduce) {
    add_allreduce(exchanges, group, whole.message, with_startups, exchange);
  } else {
    add_coded_exchange(exchanges, group, way, whole.ranks, whole.message, with_startups, exchange);
  }
  if (is_rare) exchange_rarely(whole.each.local_steps, exchange);
}

/// Returns the collective that scatters gradients. Ranks send coded parts to the rank that adds them up.
Collective scatter_of(GradientWay way) {
  return way == GradientWay::two_phases ? Collective::all_to_all : Collective::reduce_scatter;
}

}  // namespace

GradientExchange gradient_exchange(const Plan& plan, const ExchangeTimes& exchanges, const ExchangedBytes& each,
                                   const GradientGroup& group, bool with_startups) {
  const Bytes message(group.parameters * each.gradient);
  const bool gathers_frozen = plan.zero_stage == 3 && group.frozen > 0;
  if ((group.parameters <= 0 && !gathers_frozen) || plan.mesh.product(group.axes) == 1) return {};
  const double messages = group.messages;
  GradientExchange exchange;
  if (group.is_divided) {
    exchange.messages = messages;
    exchange.gather_messages = group.gathers;
  }
  const double copies = (group.axes & family_bit(Axis::data)) != 0 ? plan.shard_copies() : 1.0;
  const double shards = plan.mesh.product(group.axes) / copies;
  // If gradients are not summed over an axis of replicas, ZeRO does not shard their weights.
  if (plan.zero_stage == 0 || (group.axes & replica_axes) == 0 || shards == 1) {
    if (group.parameters <= 0) return {};
    add_whole_exchange(exchanges, {group, each, message, shards}, with_startups, exchange);
    return exchange;
  }
  // ZeRO-1 and -2 reduce-scatter gradients and gather updated weights. Sharded gradients are scattered after every
  // micro-batch. ZeRO-3 gathers the weights twice for every micro-batch, before forward and before backward, or once if they
  // stay in memory [Rajbhandari et al., SC'20]. Stages that hold whole weights and gradients exchange them once per step.
  const Family axes = copies > 1 ? shard_axes(group.axes, plan.shard_group) : group.axes;
  const auto scattered = exchanges.fastest(scatter_of(each.way), message / messages, axes, Purpose::gradient);
  const Seconds scatter = group.parameters > 0 ? scattered.time * messages : Seconds{};
  exchange.bottleneck = scattered.bottleneck;
  const Bytes weights = gathered_weights(plan, each, group);
  const auto gathered = exchanges.fastest(Collective::allgather, weights / group.gathers, axes, Purpose::gradient);
  const Seconds gather = gathered.time * group.gathers;
  exchange.measured = scattered.algorithm == measured_exchange && gathered.algorithm == measured_exchange;
  const double micro_batches = each.is_once_a_step ? 1.0 : static_cast<double>(plan.micro_batches);
  if (plan.zero_stage >= 2 && !each.is_scattered_once) exchange.rounds = micro_batches;
  exchange.of_gradients = scatter * exchange.rounds;
  // Groups with replicas of the same shards sum the shards' gradients once per step [Zha22, section 3.4].
  const Bytes shard(group.parameters * (each.local_steps > 1 ? difference_bytes : each.gradient) / shards);
  const Bytes fragment = shard / each.local_fragments;
  const double sums = each.local_fragments / each.local_steps;  // Allreduces per step
  if (copies > 1 && group.parameters > 0) {
    const ExchangeTimes::Choice sum = exchanges.allreduce(fragment, copy_axes(plan.shard_group), Purpose::gradient);
    exchange.of_copies = sum.time * sums;
    exchange.copies_overlap = each.local_steps <= 1 && exchanges.group(axes).outermost == 0;
    exchange.measured = exchange.measured && sum.measured;
    if (sum.time * each.local_fragments > scatter) exchange.bottleneck = sum.bottleneck;
  }
  // With secondary shards, the first forward of a step gathers weights among all ranks. All later gathers until the update
  // are inside a group of secondary shards [ZeRO++, section 3.2; DeepSpeed, deepspeed/runtime/zero/stage3.py, _post_step].
  const bool has_copy = (group.axes & family_bit(Axis::data)) != 0 && plan.second_shards() > 0;
  const bool is_in_groups = has_copy && plan.secondary_shards < plan.mesh[Axis::data];
  const Family near = is_in_groups ? shard_axes(group.axes, plan.secondary_shards) : axes;
  double of_copy = 0;
  if (plan.zero_stage == 3) {
    exchange.gathers = (plan.reshard && each.has_backward && !each.is_once_a_step ? 2.0 : 1.0) * micro_batches;
    if (is_in_groups) {
      of_copy = exchange.gathers - 1;
      const auto inside = exchanges.fastest(Collective::allgather, weights / group.gathers, near, Purpose::gradient);
      exchange.measured = exchange.measured && inside.algorithm == measured_exchange;
      exchange.of_weights = inside.time * (of_copy * group.gathers);
    }
    exchange.of_weights += gather * (exchange.gathers - of_copy);
  } else {
    exchange.after_update = gather;
  }
  if (with_startups) {
    const auto startup_among = [&](Family ranks, Collective operation, Bytes moved) {
      return exchanges.startup(operation, moved, ranks, Purpose::gradient);
    };
    exchange.gradient_startups =
        startup_among(axes, scatter_of(each.way), message / messages) * (exchange.rounds * messages);
    if (copies > 1)
      exchange.copy_startups = startup_among(copy_axes(plan.shard_group), Collective::allreduce, fragment) * sums;
    (plan.zero_stage == 3 ? exchange.weight_startups : exchange.update_startups) =
        startup_among(axes, Collective::allgather, weights / group.gathers) *
        ((plan.zero_stage == 3 ? exchange.gathers - of_copy : 1.0) * group.gathers);
    if (is_in_groups) {
      exchange.weight_startups +=
          startup_among(near, Collective::allgather, weights / group.gathers) * (of_copy * group.gathers);
    }
  }
  return exchange;
}

}  // namespace ddl
