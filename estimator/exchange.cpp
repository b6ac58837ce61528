#include "estimator/exchange.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace ddl {
namespace {

SecondsPerByte per_byte(Bandwidth bandwidth) { return SecondsPerByte(1.0 / bandwidth.value()); }

/// Groups one plan exchanges in: an axis each, the replicas, and whoever shares samples; each for four purposes.
constexpr std::size_t most_groups = 40;

/// Flows that one unit of level `l−1` sends up into level `l` at once, `per_group` from each group it holds a part of.
double uplink_flows(const Group& group, std::size_t level, double per_group) {
  return level == 0 ? 1.0 : group.flows[level - 1] * per_group;
}

/// Whether an exchange can go level by level: several nodes, each of which holds as many of the group.
bool has_levels(const Group& group) {
  return group.outermost > 0 && group.members[0] == std::floor(group.members[0]) &&
         group.nodes() == std::floor(group.nodes());
}

}  // namespace

ExchangePrices::ExchangePrices(const Plan& plan, const Machine& machine, const Software& software,
                               const Assumptions& assumptions, const LearnedFamilies& learned)
    : plan_(plan), machine_(machine), software_(software), assumptions_(assumptions) {
  if (assumptions.learned) learned_ = learned_of(learned, family_of(plan));
  ways_.reserve(most_groups);  // references into it stay valid
}

Route ExchangePrices::route(Purpose purpose) const {
  if (!assumptions_.host_staging || !machine_.host) return Route::direct;
  switch (purpose) {
    case Purpose::gradient:
      return software_.gradient_route;
    case Purpose::halo:
      return software_.halo_route;
    case Purpose::layer:
    case Purpose::pipeline:
      return software_.layer_route;
  }
  return Route::direct;
}

const Learned::Path& ExchangePrices::path(Purpose purpose) const {
  switch (purpose) {
    case Purpose::gradient:
      return learned_.gradient;
    case Purpose::halo:
      return learned_.halo;
    case Purpose::layer:
    case Purpose::pipeline:
      return learned_.layer;
  }
  return learned_.layer;
}

ExchangePrices::Way ExchangePrices::way_for(Family axes, Purpose purpose) const {
  Way way;
  way.axes = axes;
  way.purpose = purpose;
  way.group = group_of(plan_, machine_, axes);
  const Group& group = way.group;
  if (machine_.levels.empty()) return way;
  const LinkLevel& outermost = machine_.levels[group.outermost];
  const double in_node = group.members[0];

  // A direct exchange stripes its flows over all rails (NCCL opens channels on every NIC), so a rail carries flows/rails of
  // them: below one where a single flow has several rails. The message's start-up is that of the widest hop.
  const auto direct = [&](std::size_t from, std::size_t to, double per_group) {
    Link link;
    link.alpha = outermost.latency;
    link.add = assumptions_.add;
    for (std::size_t level = from; level <= to; ++level) {
      const LinkLevel& at = machine_.levels[level];
      const double phi = assumptions_.contention ? uplink_flows(group, level, per_group) / at.rails : 1.0;
      link.beta = max(link.beta, per_byte(at.bandwidth) * phi);
    }
    return link;
  };
  way.flat = direct(0, group.outermost, 1.0);
  if (!assumptions_.contention) way.flat.beta = per_byte(outermost.bandwidth);
  way.inside = direct(0, 0, 1.0);
  way.inside.alpha = machine_.levels[0].latency;
  if (group.outermost > 0) {
    way.slices = direct(1, group.outermost, in_node);
    way.leaders = direct(1, group.outermost, 1.0);
  }

  // Through the host a transfer crosses the device's link to the host and the host's way back to a NIC or device: twice the
  // same PCIe link where NIC and device share it. One message takes one rail; it is not striped.
  way.host_flat = way.flat;
  way.host_slices = way.slices;
  way.host_leaders = way.leaders;
  if (machine_.host) {
    const HostPath& host = *machine_.host;
    const double host_links = std::max(1.0, static_cast<double>(machine_.devices_per_node()) / host.devices_per_link);
    const auto staged = [&](double per_group) {
      Link link;
      link.alpha = outermost.latency;
      link.add = assumptions_.add;
      if (group.outermost == 0) {
        link.beta = per_byte(host.bandwidth) * (2.0 * host.devices_per_link);
        return link;
      }
      for (std::size_t level = 1; level <= group.outermost; ++level) {
        const LinkLevel& at = machine_.levels[level];
        link.beta = max(link.beta, per_byte(at.bandwidth) * std::max(1.0, uplink_flows(group, level, per_group) / at.rails));
      }
      const double sharing = std::max(1.0, group.flows[0] * per_group / host_links);
      link.beta = max(link.beta, per_byte(host.bandwidth) * (2.0 * sharing));
      return link;
    };
    way.host_flat = staged(1.0);
    way.host_slices = staged(in_node);
    way.host_leaders = staged(1.0);
  }
  const Learned::Path& factors = path(purpose);
  for (Link* link :
       {&way.flat, &way.inside, &way.slices, &way.leaders, &way.host_flat, &way.host_slices, &way.host_leaders}) {
    link->alpha *= factors.alpha;
    link->beta *= factors.beta;
  }
  return way;
}

const ExchangePrices::Way& ExchangePrices::way(Family axes, Purpose purpose) const {
  for (const Way& known : ways_) {
    if (known.axes == axes && known.purpose == purpose) return known;
  }
  assert(ways_.size() < most_groups);
  return ways_.emplace_back(way_for(axes, purpose));
}

double ExchangePrices::edge_ranks(const Group& group, Purpose purpose) const {
  if (purpose != Purpose::halo) return 1;
  // A node holds consecutive tiles, the last extent counting fastest. Across an extent that it does not hold whole, every
  // tile of a cross-section has its neighbour in another node.
  double held = group.members[0];
  double most = 1;
  for (std::size_t d = plan_.spatial.size(); d-- > 0;) {
    const double inside = std::clamp(held, 1.0, static_cast<double>(plan_.spatial[d]));
    held /= inside;
    if (plan_.spatial[d] > inside) most = std::max(most, group.members[0] / inside);
  }
  return most;
}

Link ExchangePrices::neighbour_link(Family axes, Purpose purpose) const {
  const Way& at = way(axes, purpose);
  const bool crosses = at.group.outermost > 0;
  const bool staged = machine_.host && route(purpose) == Route::host;
  Link link = staged ? at.host_flat : at.flat;
  const Learned::Path& factors = path(purpose);
  if (staged && purpose == Purpose::halo) link.alpha = max(link.alpha, machine_.host->latency * factors.alpha);
  if (!assumptions_.contention || !crosses) return link;
  // Every rank talks to its own neighbour at once.
  const LinkLevel& first = machine_.levels[1];
  const double flows = at.group.flows[0] * edge_ranks(at.group, purpose);
  link.beta = max(link.beta, per_byte(first.bandwidth) * (std::max(1.0, flows / first.rails) * factors.beta));
  if (staged) {
    const double host_links =
        std::max(1.0, static_cast<double>(machine_.devices_per_node()) / machine_.host->devices_per_link);
    link.beta =
        max(link.beta, per_byte(machine_.host->bandwidth) * (2.0 * std::max(1.0, flows / host_links) * factors.beta));
  }
  return link;
}

bool ExchangePrices::is_staged(const Way& at, Purpose purpose) const {
  // Collectives take the direct links inside a node: it is the NIC that cannot reach the device's memory. A halo's library
  // that knows only main memory has no direct links at all.
  return route(purpose) == Route::host && (at.group.outermost > 0 || purpose == Purpose::halo);
}

Seconds ExchangePrices::allreduce_time(AllreduceAlgorithm algorithm, Bytes message, const Way& at, bool staged) const {
  const double ranks = at.group.ranks;
  const bool crosses = at.group.outermost > 0;
  const Link& flat = staged ? at.host_flat : at.flat;
  // Recursive algorithms have every rank of a node talk to another node at once, as slices do.
  const Link& pairwise = crosses ? (staged ? at.host_slices : at.slices) : flat;
  switch (algorithm) {
    case AllreduceAlgorithm::linear:
      return linear_allreduce_time(message, ranks, flat);
    case AllreduceAlgorithm::tree:
      return tree_allreduce_time(message, ranks, pairwise);
    case AllreduceAlgorithm::butterfly:
      return butterfly_allreduce_time(message, ranks, pairwise);
    case AllreduceAlgorithm::ring:
      return ring_allreduce_time(message, ranks, flat);
    case AllreduceAlgorithm::rabenseifner:
      return rabenseifner_allreduce_time(message, ranks, pairwise);
    case AllreduceAlgorithm::hierarchical:
      if (!has_levels(at.group)) return ring_allreduce_time(message, ranks, flat);
      return hierarchical_allreduce_time(message, at.group.members[0], at.group.nodes(), at.inside,
                                         staged ? at.host_slices : at.slices, 1.0);
    case AllreduceAlgorithm::leader:
      if (!has_levels(at.group)) return ring_allreduce_time(message, ranks, flat);
      return leader_allreduce_time(message, at.group.members[0], at.group.nodes(), at.inside,
                                   staged ? at.host_leaders : at.leaders, 1.0);
    case AllreduceAlgorithm::parameter_server:
      return parameter_server_time(message, ranks, assumptions_.parameter_servers, pairwise);
    case AllreduceAlgorithm::sparse:
      // A four-byte index travels with every value of the share that is sent.
      return sparse_allreduce_time(message * (assumptions_.sparse_density * (1.0 + 4.0 / item_bytes(plan_.precision))),
                                   message, ranks, Seconds{}, flat);
  }
  return {};
}

ExchangePrices::Choice ExchangePrices::allreduce(Bytes message, Family axes, Purpose purpose) const {
  const Way& at = way(axes, purpose);
  const bool staged = is_staged(at, purpose);
  if (at.group.ranks <= 1) return {};
  if (assumptions_.ring_only)
    return {AllreduceAlgorithm::ring, allreduce_time(AllreduceAlgorithm::ring, message, at, staged)};
  if (purpose == Purpose::gradient) {
    std::optional<AllreduceAlgorithm> fixed = assumptions_.allreduce;
    if (!fixed) {
      constexpr Family splits_the_layer = family_bit(Axis::filter) | family_bit(Axis::channel) | family_bit(Axis::spatial);
      const bool hybrid = (family_of(plan_) & splits_the_layer) != 0;
      fixed = hybrid ? software_.hybrid_gradient_algorithm : software_.gradient_algorithm;
    }
    if (fixed) return {*fixed, allreduce_time(*fixed, message, at, staged)};
  } else if (software_.layer_algorithm) {
    return {*software_.layer_algorithm, allreduce_time(*software_.layer_algorithm, message, at, staged)};
  }
  Choice best{AllreduceAlgorithm::ring, allreduce_time(AllreduceAlgorithm::ring, message, at, staged)};
  for (const AllreduceAlgorithm algorithm : {AllreduceAlgorithm::hierarchical, AllreduceAlgorithm::rabenseifner,
                                             AllreduceAlgorithm::butterfly, AllreduceAlgorithm::tree}) {
    const Seconds time = allreduce_time(algorithm, message, at, staged);
    if (time < best.time) best = {algorithm, time};
  }
  return best;
}

Seconds ExchangePrices::least_time(Bytes message, Family axes) const {
  const Way& at = way(axes, Purpose::layer);
  if (at.group.ranks <= 1) return {};
  // Whatever else is fixed has a bound of its own, or as a sparse one none at all.
  const std::optional<AllreduceAlgorithm>& fixed = software_.layer_algorithm;
  if (!assumptions_.ring_only && fixed && fixed != AllreduceAlgorithm::ring) return {};
  const bool staged = is_staged(at, Purpose::layer);
  const Bytes moved = message * (1.0 - 1.0 / at.group.ranks);
  const Seconds one_ring = moved * (staged ? at.host_flat : at.flat).beta;
  if (at.group.outermost == 0 || assumptions_.ring_only || fixed) return one_ring;
  const SecondsPerByte slices = (staged ? at.host_slices : at.slices).beta;
  const double in_node = at.group.members[0];
  const Seconds two_levels =
      message * (1.0 - 1.0 / in_node) * at.inside.beta + message * ((1.0 - 1.0 / at.group.nodes()) / in_node) * slices;
  return min(min(one_ring, two_levels), moved * slices);
}

ExchangePrices::Priced ExchangePrices::way_of(Collective operation, Bytes message, Family axes, Purpose purpose) const {
  const Way& at = way(axes, purpose);
  const double ranks = at.group.ranks;
  if (ranks <= 1) return {};
  const bool staged = is_staged(at, purpose);
  const Link& flat = staged ? at.host_flat : at.flat;
  const auto gathered = [&](auto ring) -> Priced {
    const Seconds one_ring = ring(message, ranks, flat);
    if (assumptions_.ring_only || software_.layer_algorithm || !has_levels(at.group)) return {"ring", one_ring};
    const double in_node = at.group.members[0];
    const Seconds two_levels =
        ring(message, in_node, at.inside) + ring(message / in_node, at.group.nodes(), staged ? at.host_slices : at.slices);
    return two_levels < one_ring ? Priced{"hierarchical", two_levels} : Priced{"ring", one_ring};
  };
  switch (operation) {
    case Collective::allreduce: {
      const Choice choice = allreduce(message, axes, purpose);
      return {to_string(choice.algorithm), choice.time};
    }
    case Collective::allgather:
      return gathered(ring_allgather_time);
    case Collective::reduce_scatter:
      return gathered(ring_reduce_scatter_time);
    case Collective::all_to_all:
      return {"pairwise", pairwise_all_to_all_time(message, ranks,
                                                   at.group.outermost == 0 ? flat : (staged ? at.host_slices : at.slices))};
    case Collective::broadcast:
      return {"tree", tree_broadcast_time(message, ranks, flat)};
    case Collective::reduce:
      return {"tree", tree_reduce_time(message, ranks, flat)};
    case Collective::point_to_point: {
      const Link link = neighbour_link(axes, purpose);
      return {"neighbour", link.alpha + message * link.beta};
    }
  }
  return {};
}

}  // namespace ddl
