#include "estimator/exchanges/exchange.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "estimator/exchanges/gradient_exchange.hpp"

namespace ddl {
namespace {

constexpr std::string_view hierarchical = "hierarchical";
constexpr std::string_view tree = "tree";
constexpr std::string_view chain = "chain";
/// The algorithm of a broadcast or a reduce that is as long as an Allreduce.
constexpr std::string_view as_allreduce = "allreduce";

/// The minimum of fitted factors. The minimum is above zero because times are divided by factors.
constexpr double least_factor = 1e-9;

/// Returns whether the group can use a hierarchical exchange: its ranks are on several nodes, with
/// the same number on each node.
bool has_levels(const Group& group) {
  return group.outermost > 0 && group.members[0] == std::floor(group.members[0]) &&
         group.nodes() == std::floor(group.nodes());
}

/// Returns whether filters, channels or positions of layers are split.
bool splits_layers(const Mesh& mesh) {
  constexpr Family splitting = family_bit(Axis::filter) | family_bit(Axis::channel) | family_bit(Axis::spatial);
  return (mesh.family() & splitting) != 0;
}

}  // namespace

ExchangeTimes::ExchangeTimes(const Plan& plan, const Machine& machine, const Coefficients& coefficients,
                             const Assumptions& assumptions, KnownTimes* known)
    : plan_(plan),
      machine_(machine),
      coefficients_(coefficients),
      software_(coefficients.software),
      assumptions_(assumptions),
      known_(known) {
  if (assumptions.learned) learned_ = learned_of(coefficients.learned, plan.mesh.family());
}

Route ExchangeTimes::prescribed_route(Purpose purpose) const {
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

Route ExchangeTimes::route(Collective operation, Family axes, Purpose purpose) const {
  const bool is_through_host = operation == Collective::point_to_point ? prescribed_route(purpose) == Route::host
                                                                       : is_staged(links(axes, purpose), purpose);
  return is_through_host ? Route::host : Route::direct;
}

PathCoefficients path_coefficients(Purpose purpose) {
  switch (purpose) {
    case Purpose::gradient:
      return {Coefficient::gradient_alpha, Coefficient::gradient_beta};
    case Purpose::halo:
      return {Coefficient::halo_alpha, Coefficient::halo_beta};
    case Purpose::layer:
    case Purpose::pipeline:
      break;
  }
  return {Coefficient::layer_alpha, Coefficient::layer_beta};
}

ExchangeTimes::GroupLinks ExchangeTimes::links_for(Family axes, Purpose purpose) const {
  GroupLinks way;
  way.axes = axes;
  way.purpose = purpose;
  way.group = group_of(plan_, machine_, axes);
  const Group& group = way.group;
  if (machine_.levels.empty()) return way;
  if (known_ != nullptr && group.ranks > 1) way.place = known_->place(properties_of(group, purpose));
  const double in_node = group.members[0];
  way.flat = share(group, {Pattern::ring}, false, purpose);
  way.inside = share(group, {Pattern::ring, 1, true, 0, 0}, false, purpose);
  way.host_flat = way.flat;
  if (machine_.host) way.host_flat = share(group, {Pattern::ring}, true, purpose);
  if (group.outermost == 0) return way;
  way.slices = share(group, {Pattern::slices, in_node, true, 1}, false, purpose);
  way.leaders = share(group, {Pattern::leaders, 1, true, 1}, false, purpose);
  way.one_leader = share(group, {Pattern::leaders, 1, false, 1}, false, purpose);
  // A node has one leader for each of its links. More leaders would not be faster.
  way.leader_count =
      std::clamp(std::ceil(machine_.levels[1].rails / group.flows[0]), 1.0, std::max(1.0, std::floor(in_node)));
  way.several_leaders = share(group, {Pattern::leaders, way.leader_count, true, 1}, false, purpose);
  way.host_slices = way.slices;
  way.host_leaders = way.leaders;
  way.host_several_leaders = way.several_leaders;
  if (machine_.host) {
    way.host_slices = share(group, {Pattern::slices, in_node}, true, purpose);
    way.host_leaders = share(group, {Pattern::leaders}, true, purpose);
    way.host_several_leaders = share(group, {Pattern::leaders, way.leader_count}, true, purpose);
  }
  return way;
}

std::vector<double> ExchangeTimes::properties_of(const Group& group, Purpose purpose) const {
  // The fitted factors and the prescribed algorithm of gradients depend on the family.
  const Family family = coefficients_.learned.empty() ? splits_layers(plan_.mesh) : plan_.mesh.family();
  const std::size_t levels = std::min(machine_.levels.size(), Group::max_levels);
  std::vector<double> properties{static_cast<double>(purpose), static_cast<double>(family), group.ranks,
                                 static_cast<double>(group.outermost), exchanged_bytes(plan_, assumptions_).gradient};
  properties.insert(properties.end(), group.members.begin(), group.members.begin() + levels);
  properties.insert(properties.end(), group.flows.begin(), group.flows.begin() + levels);
  if (!machine_.network) return properties;
  properties.push_back(group.all);
  for (std::size_t i = 0; i < group.digit_count; ++i) {
    properties.push_back(group.digits[i].size);
    properties.push_back(group.digits[i].stride);
  }
  return properties;
}

SharedLink ExchangeTimes::share(const Group& group, const Flows& flows, bool staged, Purpose purpose) const {
  SharedLink shared = staged ? share_through_host(machine_, group, flows, coefficients_.contention)
                             : share_of_levels(machine_, group, flows, assumptions_.contention, coefficients_.contention);
  // Without contention, a flat ring uses only a link of the level that joins all its ranks, even if
  // a link inside a unit of that level is slower.
  if (!staged && !assumptions_.contention && flows.pattern == Pattern::ring) {
    shared.link.beta = SecondsPerByte(1.0 / machine_.levels[std::min(flows.to, group.outermost)].bandwidth.value());
  }
  shared.link.add = assumptions_.add;
  const PathCoefficients path = path_coefficients(purpose);
  shared.link.alpha *= learned_[path.alpha];
  shared.link.beta *= learned_[path.beta];
  const double factor = congestion_factor(group, flows.from, flows.to);
  shared.link.alpha *= factor;
  shared.link.beta *= factor;
  return shared;
}

double ExchangeTimes::congestion_factor(const Group& group, std::size_t from, std::size_t to) const {
  if (!assumptions_.congestion_quantile) return 1;
  double factor = 1;
  for (const Congestion& congestion : coefficients_.congestion) {
    for (std::size_t level = from; level <= std::min(to, group.outermost); ++level) {
      if (machine_.levels[level].name != congestion.level) continue;
      factor = std::max(factor, congestion.median * std::pow(congestion.spread, *assumptions_.congestion_quantile));
    }
  }
  return factor;
}

std::optional<AllreduceAlgorithm> ExchangeTimes::prescribed(Purpose purpose) const {
  if (assumptions_.ring_only) return AllreduceAlgorithm::ring;
  if (purpose != Purpose::gradient) return software_.layer_algorithm;
  if (assumptions_.allreduce) return assumptions_.allreduce;
  return splits_layers(plan_.mesh) ? software_.hybrid_gradient_algorithm : software_.gradient_algorithm;
}

bool ExchangeTimes::may_be_measured(const GroupLinks& at, Purpose purpose) const {
  if (coefficients_.exchanges.empty() || at.group.ranks <= 1 || prescribed(purpose) || is_staged(at, purpose)) return false;
  // Groups that share a node's links wait for each other. A benchmark of a single group does not include this waiting.
  return at.group.outermost == 0 || (has_levels(at.group) && at.group.flows[0] == 1);
}

bool ExchangeTimes::is_measured(Family axes, Purpose purpose) const {
  const GroupLinks& at = links(axes, purpose);
  if (!may_be_measured(at, purpose)) return false;
  const double nodes = at.group.outermost == 0 ? 1 : at.group.nodes();
  for (const Collective operation : {Collective::allreduce, Collective::allgather, Collective::reduce_scatter}) {
    if (coefficients_.exchanges.least_per_byte(operation, at.group.ranks, nodes)) return true;
  }
  return false;
}

std::optional<Seconds> ExchangeTimes::library_time(Collective operation, Bytes message, const LibraryGroup& group,
                                                   const GroupLinks& at) const {
  const LibraryConstants* const constants = library(at, false);
  if (constants == nullptr) return std::nullopt;
  switch (operation) {
    case Collective::allreduce: {
      const Seconds ring = library_ring_time(2, message, group, *constants);
      return at.group.outermost > 0 ? min(ring, library_tree_time(message, group, *constants)) : ring;
    }
    case Collective::allgather:
    case Collective::reduce_scatter:
      return library_ring_time(1, message, group, *constants);
    case Collective::all_to_all:
      return library_all_to_all_time(message, group, *constants);
    default:
      return std::nullopt;
  }
}

std::optional<Seconds> ExchangeTimes::continued_time(Collective operation, Bytes message, const GroupLinks& at) const {
  const MeasuredExchanges& measured = coefficients_.exchanges;
  const double nodes = at.group.outermost == 0 ? 1 : at.group.nodes();
  const std::optional<Bytes> last = measured.last_size(operation, at.group.ranks, nodes);
  const LibraryGroup group = library_group(at);
  const Bytes known = last ? min(*last, message) : message;
  std::optional<Seconds> time = measured.time(operation, known, at.group.ranks, nodes);
  if (!time) return std::nullopt;
  if (const auto count = measured.last_count(operation, known, at.group.ranks, nodes)) {
    LibraryGroup fewer = group;
    fewer.ranks = count->ranks;
    fewer.nodes = at.group.outermost == 0 ? count->ranks : count->nodes;
    const std::optional<Seconds> from = library_time(operation, known, fewer, at);
    const std::optional<Seconds> to = library_time(operation, known, group, at);
    const std::optional<Seconds> start = measured.time(operation, known, count->ranks, count->nodes);
    if (from && to && start && *from > Seconds{}) time = *start * (*to / *from);
  }
  if (known < message) {
    const std::optional<Seconds> from = library_time(operation, known, group, at);
    const std::optional<Seconds> to = library_time(operation, message, group, at);
    if (!from || !to) return measured.time(operation, message, at.group.ranks, nodes);
    time = *time + max(Seconds{}, (*to - *from) / group.beta_factor);
  }
  return time;
}

Seconds ExchangeTimes::agreeing(Seconds time, std::optional<Seconds> start, Collective operation, Bytes message,
                                const GroupLinks& at) const {
  const bool is_whole = operation == Collective::allreduce;
  if (!is_whole && operation != Collective::allgather && operation != Collective::reduce_scatter) return time;
  const double ranks = at.group.ranks, nodes = at.group.outermost == 0 ? 1 : at.group.nodes();
  // Whether an Allreduce (`whole`), or an Allgather or Reduce-scatter, was measured. `here`: among exactly these nodes.
  const auto is_measured = [&](bool whole, bool here) {
    const std::vector<MeasuredCurve>& curves = coefficients_.exchanges.curves();
    return std::any_of(curves.begin(), curves.end(), [&](const MeasuredCurve& each) {
      const bool is_asked = whole ? each.operation == Collective::allreduce
                                  : each.operation == Collective::allgather || each.operation == Collective::reduce_scatter;
      if (!is_asked || each.window != 1 || (each.nodes > 1) != (nodes > 1)) return false;
      if (here) return each.ranks == ranks && each.nodes == nodes && message <= each.points.back().message;
      return nodes == 1 || std::abs(each.ranks * nodes - ranks * each.nodes) < 0.5 * nodes;
    });
  };
  if (is_measured(is_whole, true) || !is_measured(!is_whole, false)) return time;
  if (is_whole) {
    const std::optional<Seconds> gather = continued_time(Collective::allgather, message, at);
    const std::optional<Seconds> scatter = continued_time(Collective::reduce_scatter, message, at);
    if (!gather || !scatter) return time;
    const std::optional<Seconds> first = continued_time(Collective::allgather, Bytes(1), at);
    const Seconds bytes = max(*gather, *scatter) - first.value_or(Seconds{});
    return min(max(time, bytes), *gather + *scatter);
  }
  if (is_measured(false, false) && !is_measured(true, true)) return time;
  const std::optional<Seconds> whole = continued_time(Collective::allreduce, message, at);
  if (!start) start = continued_time(operation, Bytes(1), at);
  return whole ? min(max(time, *whole / 2.0), *whole + start.value_or(Seconds{})) : time;
}

std::optional<ExchangeTimes::Parts> ExchangeTimes::measured_time(Collective operation, Bytes message, const GroupLinks& at,
                                                                 Purpose purpose) const {
  if (operation == Collective::point_to_point || !may_be_measured(at, purpose)) return std::nullopt;
  const MeasuredExchanges& measured = coefficients_.exchanges;
  const double nodes = at.group.outermost == 0 ? 1 : at.group.nodes();
  std::optional<Seconds> time = continued_time(operation, message, at);
  if (!time) return std::nullopt;
  Seconds bytes = min(*time, message * *measured.least_per_byte(operation, at.group.ranks, nodes));
  if (operation == Collective::allreduce && measured.rests_on_two_nodes(operation, at.group.ranks, nodes)) {
    // Links have at most the datasheet's bandwidth, even if measurements of two nodes reach more.
    // The return statement applies fitted and congestion factors, so they are divided out here.
    const double factors = learned_[path_coefficients(purpose).beta] * congestion_factor(at.group, 0, at.group.outermost);
    const Seconds carried =
        (2 * (at.group.ranks - 1) / at.group.ranks) * (message * at.flat.link.beta) / std::max(factors, least_factor);
    bytes += max(Seconds{}, carried - *time);
    time = max(*time, carried);
  }
  time = agreeing(*time, std::nullopt, operation, message, at);
  bytes = min(bytes, *time);
  const PathCoefficients path = path_coefficients(purpose);
  double factor = congestion_factor(at.group, 0, at.group.outermost);
  if (assumptions_.congestion_quantile) {
    // Repetitions of measurements already contain the slowdowns by other jobs, so the congestion factor is not applied to
    // them again.
    factor =
        std::max(factor, std::pow(measured.spread(operation, at.group.ranks, nodes), *assumptions_.congestion_quantile));
  }
  return Parts{(*time - bytes) * (learned_[path.alpha] * factor), bytes * (learned_[path.beta] * factor)};
}

SharedLink ExchangeTimes::round_link(const GroupLinks& at, Pattern pattern, double step, bool staged) const {
  Flows flows{pattern, std::max(1.0, std::floor(at.group.members[0]))};
  flows.step = step;
  // In a tree, partners meet at the first level whose units hold more ranks than the distance between them.
  if (!machine_.network) {
    flows.to = 0;
    while (flows.to < at.group.outermost && at.group.members[flows.to] <= step) ++flows.to;
  }
  SharedLink shared = share(at.group, flows, staged, at.purpose);
  if (at.only_startups) shared.link.beta = shared.link.add = SecondsPerByte{};
  return shared;
}

bool ExchangeTimes::rounds_differ(const GroupLinks& at) const {
  return machine_.network && at.group.outermost > 0 && assumptions_.contention;
}

bool ExchangeTimes::is_by_rounds(AllreduceAlgorithm algorithm, const GroupLinks& at) const {
  // In a tree, large parts of the vector that travel far share the outer links. With several ranks in a node, all algorithms
  // are predicted on the outermost link, so that they can be compared.
  const bool is_far = algorithm == AllreduceAlgorithm::far_halving_doubling && at.group.members[0] == 1;
  return rounds_differ(at) || (is_far && at.group.outermost > 0 && assumptions_.contention);
}

ExchangeTimes::Rounds ExchangeTimes::rounds_of(AllreduceAlgorithm algorithm, const GroupLinks& at) const {
  if (!is_by_rounds(algorithm, at)) return {};
  switch (algorithm) {
    case AllreduceAlgorithm::butterfly:
    case AllreduceAlgorithm::rabenseifner:
      return {halving_rounds(at.group.ranks), Pattern::exchange};
    case AllreduceAlgorithm::far_halving_doubling:
      return {far_halving_rounds(at.group.ranks), Pattern::exchange};
    case AllreduceAlgorithm::shifted_halving_doubling: {
      if (!has_levels(at.group)) return {shifted_halving_rounds(at.group.ranks), Pattern::shift};
      const double in_node = at.group.members[0];
      std::vector<HalvingRound> rounds = shifted_halving_rounds(at.group.nodes());
      for (HalvingRound& round : rounds) {
        round.step *= in_node;
        round.part /= in_node;
      }
      return {std::move(rounds), Pattern::shift, in_node};
    }
    default:
      return {};
  }
}

Seconds ExchangeTimes::by_rounds(AllreduceAlgorithm algorithm, Bytes message, const GroupLinks& at, bool staged) const {
  const Rounds rounds = rounds_of(algorithm, at);
  // A butterfly has no gather after its rounds, so every round exchanges the whole vector.
  const bool whole = algorithm == AllreduceAlgorithm::butterfly;
  Seconds time = rounds.in_node > 1 ? ring_allreduce_time(message, rounds.in_node, at.inside.link) : Seconds{};
  for (const HalvingRound& round : rounds.rounds) {
    const Link link = round_link(at, rounds.pattern, round.step, staged).link;
    const Bytes sent = message * (whole ? 1.0 : round.part);
    time += (whole ? 1.0 : 2.0) * (link.alpha + sent * link.beta) + sent * link.add;
  }
  return time;
}

Bottleneck ExchangeTimes::busiest(AllreduceAlgorithm algorithm, const GroupLinks& at, bool staged) const {
  const Rounds rounds = rounds_of(algorithm, at);
  if (rounds.rounds.empty()) return links_of(algorithm, at, staged).bottleneck;
  Bottleneck bottleneck = round_link(at, rounds.pattern, rounds.rounds.front().step, staged).bottleneck;
  for (const HalvingRound& round : rounds.rounds) {
    const Bottleneck own = round_link(at, rounds.pattern, round.step, staged).bottleneck;
    if (own.phi > bottleneck.phi) bottleneck = own;
  }
  return bottleneck;
}

const ExchangeTimes::GroupLinks& ExchangeTimes::links(Family axes, Purpose purpose, bool only_startups) const {
  for (const GroupLinks& known : links_) {
    if (known.axes == axes && known.purpose == purpose && known.only_startups == only_startups) return known;
  }
  if (!only_startups) return links_.emplace_back(links_for(axes, purpose));
  GroupLinks at = links(axes, purpose);
  at.only_startups = true;
  for (SharedLink* each : {&at.flat, &at.inside, &at.slices, &at.leaders, &at.one_leader, &at.several_leaders, &at.host_flat,
                           &at.host_slices, &at.host_leaders, &at.host_several_leaders}) {
    each->link.beta = each->link.add = SecondsPerByte{};
  }
  return links_.emplace_back(at);
}

double ExchangeTimes::edge_ranks(const Group& group, Purpose purpose) const {
  if (purpose != Purpose::halo) return 1;
  // A node holds consecutive tiles; the position along the last extent varies fastest. Along an extent that a node does not
  // hold completely, every tile of a cross-section has its neighbor in another node.
  double held = group.members[0];
  double most = 1;
  for (std::size_t d = plan_.mesh.tiles().size(); d-- > 0;) {
    const double inside = std::clamp(held, 1.0, static_cast<double>(plan_.mesh.tiles()[d]));
    held /= inside;
    if (plan_.mesh.tiles()[d] > inside) most = std::max(most, group.members[0] / inside);
  }
  return most;
}

SharedLink ExchangeTimes::neighbour_link(Family axes, Purpose purpose) const {
  const GroupLinks& at = links(axes, purpose);
  const bool crosses = at.group.outermost > 0;
  const bool staged = machine_.host && prescribed_route(purpose) == Route::host;
  SharedLink link = staged ? at.host_flat : at.flat;
  if (staged && purpose == Purpose::halo)
    link.link.alpha = max(link.link.alpha, machine_.host->latency * learned_[path_coefficients(purpose).alpha]);
  if (!assumptions_.contention) return link;
  const auto narrow = [&](const SharedLink& other) {
    if (other.link.beta <= link.link.beta) return;
    link.link.beta = other.link.beta;
    link.bottleneck = other.bottleneck;
  };
  if (!staged && at.group.members[0] > 1 && machine_.levels[0].peers > 0)
    narrow(share(at.group, {Pattern::neighbours, 1, false, 0, 0}, false, purpose));
  if (!crosses) return link;
  // All ranks communicate with their neighbors at the same time. Each pair sends one message on one link.
  Flows flows{Pattern::neighbours, edge_ranks(at.group, purpose), false, 1, 1};
  SharedLink edge;
  if (machine_.network && purpose == Purpose::halo) {
    // Halos along different extents of the grid of tiles are exchanged one after the other.
    double step = 1;
    for (std::size_t d = plan_.mesh.tiles().size(); d-- > 0;) {
      flows.step = step;
      flows.extent = plan_.mesh.tiles()[d];
      step *= flows.extent;
      if (flows.extent == 1) continue;
      const SharedLink side = share(at.group, flows, staged, purpose);
      if (side.link.beta > edge.link.beta) edge = side;
    }
  } else {
    flows.extent = at.group.ranks;
    edge = share(at.group, flows, staged, purpose);
  }
  narrow(edge);
  return link;
}

bool ExchangeTimes::is_staged(const GroupLinks& at, Purpose purpose) const {
  // Inside a node, collectives use the direct links, because only the NIC cannot access the
  // device's memory. A halo library that only supports main memory uses no direct links.
  return prescribed_route(purpose) == Route::host && (at.group.outermost > 0 || purpose == Purpose::halo);
}

const SharedLink& ExchangeTimes::links_of(AllreduceAlgorithm algorithm, const GroupLinks& at, bool staged) {
  const SharedLink& flat = staged ? at.host_flat : at.flat;
  if (at.group.outermost == 0) return flat;
  const SharedLink& slices = staged ? at.host_slices : at.slices;
  switch (algorithm) {
    case AllreduceAlgorithm::linear:
    case AllreduceAlgorithm::ring:
    case AllreduceAlgorithm::reduce_broadcast:
    case AllreduceAlgorithm::sparse:
      return flat;
    case AllreduceAlgorithm::hierarchical:
    case AllreduceAlgorithm::in_network:
      return has_levels(at.group) ? slices : flat;
    case AllreduceAlgorithm::multi_leader:
      return has_levels(at.group) ? (staged ? at.host_several_leaders : at.several_leaders) : flat;
    case AllreduceAlgorithm::leader:
      return has_levels(at.group) ? (staged ? at.host_leaders : at.one_leader) : flat;
    case AllreduceAlgorithm::double_tree:
      return has_levels(at.group) ? (staged ? at.host_leaders : at.leaders) : flat;
    case AllreduceAlgorithm::tree:
    case AllreduceAlgorithm::butterfly:
    case AllreduceAlgorithm::rabenseifner:
    case AllreduceAlgorithm::shifted_halving_doubling:
    case AllreduceAlgorithm::far_halving_doubling:
    case AllreduceAlgorithm::parameter_server:
      // In recursive algorithms, all ranks of a node send to another node at the same time, as in a ring of slices.
      return slices;
  }
  return flat;
}

Seconds ExchangeTimes::allreduce_time(AllreduceAlgorithm algorithm, Bytes message, const GroupLinks& at, bool staged) const {
  const double ranks = at.group.ranks;
  if (const LibraryConstants* constants = library(at, staged)) {
    if (algorithm == AllreduceAlgorithm::ring) return library_ring_time(2, message, library_group(at), *constants);
    if (algorithm == AllreduceAlgorithm::double_tree) return library_tree_time(message, library_group(at), *constants);
  }
  const Link& link = links_of(algorithm, at, staged).link;
  switch (algorithm) {
    case AllreduceAlgorithm::linear:
      return linear_allreduce_time(message, ranks, link);
    case AllreduceAlgorithm::tree:
      return tree_allreduce_time(message, ranks, link);
    case AllreduceAlgorithm::butterfly:
      if (rounds_differ(at)) return by_rounds(algorithm, message, at, staged);
      return butterfly_allreduce_time(message, ranks, link);
    case AllreduceAlgorithm::ring:
      return ring_allreduce_time(message, ranks, link);
    case AllreduceAlgorithm::shifted_halving_doubling:
      if (rounds_differ(at)) return by_rounds(algorithm, message, at, staged);
      return shifted_halving_doubling_allreduce_time(message, ranks, link);
    case AllreduceAlgorithm::rabenseifner:
    case AllreduceAlgorithm::far_halving_doubling:
      if (is_by_rounds(algorithm, at)) return by_rounds(algorithm, message, at, staged);
      return rabenseifner_allreduce_time(message, ranks, link);
    case AllreduceAlgorithm::hierarchical:
      if (!has_levels(at.group)) return ring_allreduce_time(message, ranks, link);
      return hierarchical_allreduce_time(message, at.group.members[0], at.group.nodes(), at.inside.link, link, 1.0);
    case AllreduceAlgorithm::multi_leader:
      if (!has_levels(at.group)) return ring_allreduce_time(message, ranks, link);
      return multi_leader_allreduce_time(message, at.group.members[0], at.group.nodes(), at.leader_count, at.inside.link,
                                         link);
    case AllreduceAlgorithm::leader:
      if (!has_levels(at.group)) return ring_allreduce_time(message, ranks, link);
      return leader_allreduce_time(message, at.group.members[0], at.group.nodes(), at.inside.link, link, 1.0);
    case AllreduceAlgorithm::parameter_server:
      return parameter_server_time(message, ranks, assumptions_.parameter_servers, link);
    case AllreduceAlgorithm::reduce_broadcast:
      return reduce_broadcast_time(message, ranks, link);
    case AllreduceAlgorithm::sparse: {
      const double density = assumptions_.allreduce ? assumptions_.sparse_density
                                                    : software_.gradient_density.value_or(assumptions_.sparse_density);
      // A four-byte index is sent with every value.
      return sparse_allreduce_time(message * (density * (1.0 + 4.0 / exchanged_bytes(plan_, assumptions_).gradient)),
                                   message, ranks, Seconds{}, link);
    }
    case AllreduceAlgorithm::double_tree:
      return double_tree_allreduce_time(message, ranks, link);
    case AllreduceAlgorithm::in_network:
      if (!has_levels(at.group)) return in_network_allreduce_time(message, 1, ranks, link, link);
      return in_network_allreduce_time(message, at.group.members[0], at.group.nodes(), at.inside.link, link);
  }
  return {};
}

const LibraryConstants* ExchangeTimes::library(const GroupLinks& at, bool staged) const {
  if (staged || assumptions_.ring_only || at.group.ranks <= 1 || machine_.levels.empty()) return nullptr;
  if (at.group.outermost > 0 && !has_levels(at.group)) return nullptr;
  const std::optional<LibraryConstants>& constants = machine_.levels[at.group.outermost > 0 ? 1 : 0].library;
  return constants ? &*constants : nullptr;
}

LibraryGroup ExchangeTimes::library_group(const GroupLinks& at) const {
  const PathCoefficients path = path_coefficients(at.purpose);
  const double congestion = congestion_factor(at.group, 0, at.group.outermost);
  if (at.group.outermost == 0) {
    // Inside a node, each device is treated as a node with one rank.
    const Link& link = at.flat.link;
    const std::optional<LibraryConstants>& constants = machine_.levels[0].library;
    const Seconds step = link.alpha * (constants ? constants->tree_inside : 1.0);
    return {.ranks = at.group.ranks,
            .nodes = at.group.ranks,
            .between = step,
            .inside = step,
            .ring = link.beta,
            .out_of_node = link.beta,
            .in_node = link.beta,
            .exchanged = link.beta,
            .add = link.add,
            .alpha_factor = std::max(learned_[path.alpha] * congestion, least_factor),
            .beta_factor = std::max(learned_[path.beta] * congestion, least_factor)};
  }
  return {.ranks = at.group.ranks,
          .nodes = at.group.nodes(),
          .between = at.flat.link.alpha,
          .inside = at.inside.link.alpha,
          .ring = at.flat.link.beta,
          .out_of_node = at.leaders.link.beta,
          .in_node = at.inside.link.beta,
          .exchanged = at.slices.link.beta,
          .add = at.flat.link.add,
          .alpha_factor = std::max(learned_[path.alpha] * congestion, least_factor),
          .beta_factor = std::max(learned_[path.beta] * congestion, least_factor)};
}

ExchangeTimes::Choice ExchangeTimes::allreduce(Bytes message, Family axes, Purpose purpose) const {
  const GroupLinks& at = links(axes, purpose);
  const bool staged = is_staged(at, purpose);
  if (at.group.ranks <= 1) return {};
  const auto choice = [&](AllreduceAlgorithm algorithm) -> Choice {
    return {algorithm, allreduce_time(algorithm, message, at, staged), busiest(algorithm, at, staged)};
  };
  if (const std::optional<AllreduceAlgorithm> algorithm = prescribed(purpose)) return choice(*algorithm);
  if (const std::optional<Parts> measured = measured_time(Collective::allreduce, message, at, purpose)) {
    Choice known{.time = measured->startups + measured->bytes};
    known.measured = true;
    return known;
  }
  Choice best = choice(AllreduceAlgorithm::ring);
  const auto consider = [&](AllreduceAlgorithm algorithm) {
    const Seconds time = allreduce_time(algorithm, message, at, staged);
    if (time < best.time) best = {algorithm, time, busiest(algorithm, at, staged)};
  };
  if (library(at, staged) != nullptr) {
    if (at.group.outermost > 0) consider(AllreduceAlgorithm::double_tree);
    if (software_.gradient_density && purpose == Purpose::gradient) consider(AllreduceAlgorithm::sparse);
    return best;
  }
  // Shifted halving-doubling works for any number of ranks. For a power of two, it is as fast as
  // halving-doubling between pairs of ranks.
  if (rounds_differ(at) && machine_.shape.kind == NetworkShape::Kind::distributed_loop)
    consider(AllreduceAlgorithm::shifted_halving_doubling);
  for (const AllreduceAlgorithm algorithm :
       {AllreduceAlgorithm::hierarchical, AllreduceAlgorithm::rabenseifner, AllreduceAlgorithm::butterfly,
        AllreduceAlgorithm::tree, AllreduceAlgorithm::multi_leader}) {
    consider(algorithm);
  }
  if (software_.gradient_density && purpose == Purpose::gradient) consider(AllreduceAlgorithm::sparse);
  return best;
}

Seconds ExchangeTimes::time(Collective operation, Bytes message, Family axes, Purpose purpose) const {
  const auto compute = [&] { return fastest(operation, message, axes, purpose).time; };
  // The time between neighbors depends on the positions of their tiles.
  if (known_ == nullptr || operation == Collective::point_to_point) return compute();
  return shared({links(axes, purpose).place, operation, KnownTimes::Kind::whole, message.value()}, compute);
}

Seconds ExchangeTimes::least_time(Bytes message, Family axes, Purpose purpose) const {
  const GroupLinks& at = links(axes, purpose);
  if (at.group.ranks <= 1) return {};
  return shared({at.place, Collective::allgather, KnownTimes::Kind::least, message.value()},
                [&] { return least_of(message, at); });
}

Seconds ExchangeTimes::least_of(Bytes message, const GroupLinks& at) const {
  const Purpose purpose = at.purpose;
  if (!is_measured(at.axes, purpose)) return least_by_links(message, at, purpose);
  // Each measured operation has its own lower bound. The smallest of these bounds holds for all operations.
  const double nodes = at.group.outermost == 0 ? 1 : at.group.nodes();
  const double learned = learned_[path_coefficients(purpose).beta];
  std::optional<Seconds> least;
  bool all = true;
  for (const Collective operation : {Collective::allreduce, Collective::allgather, Collective::reduce_scatter}) {
    const auto bound = coefficients_.exchanges.least_per_byte(operation, at.group.ranks, nodes);
    all = all && bound.has_value() && !coefficients_.exchanges.may_be_continued(operation, at.group.ranks, nodes);
    if (!bound) continue;
    const double halves = operation == Collective::allreduce ? 0.5 : 1.0;
    const Seconds time =
        message * *bound * (halves * learned * std::min(1.0, learned_[path_coefficients(purpose).alpha] / learned));
    least = least ? min(*least, time) : time;
  }
  return all ? *least : min(*least, least_by_links(message, at, purpose));
}

Seconds ExchangeTimes::least_by_links(Bytes message, const GroupLinks& at, Purpose purpose) const {
  // For a prescribed algorithm other than the ring, this function has no bound and returns zero.
  const std::optional<AllreduceAlgorithm> fixed = prescribed(purpose);
  if (fixed && fixed != AllreduceAlgorithm::ring) return {};
  const bool staged = is_staged(at, purpose);
  const Bytes moved = message * (1.0 - 1.0 / at.group.ranks);
  const Seconds one_ring = moved * (staged ? at.host_flat : at.flat).link.beta;
  if (at.group.outermost == 0 || fixed) return one_ring;
  if (library(at, staged) != nullptr) return library_least_time(message, library_group(at));
  const SecondsPerByte slices = (staged ? at.host_slices : at.slices).link.beta;
  const double in_node = at.group.members[0];
  const Seconds two_levels =
      message * (1.0 - 1.0 / in_node) * at.inside.link.beta + message * ((1.0 - 1.0 / at.group.nodes()) / in_node) * slices;
  Seconds least = min(min(one_ring, two_levels), moved * slices);
  if (!rounds_differ(at)) return least;
  // A round between neighboring ranks may be faster than a ring.
  for (const AllreduceAlgorithm algorithm :
       {AllreduceAlgorithm::rabenseifner, AllreduceAlgorithm::shifted_halving_doubling}) {
    const Rounds rounds = rounds_of(algorithm, at);
    const Seconds inside = message * (1.0 - 1.0 / rounds.in_node) * at.inside.link.beta;
    const Bytes between = message * ((1.0 - rounds.in_node / at.group.ranks) / rounds.in_node);
    for (const HalvingRound& round : rounds.rounds) {
      least = min(least, inside + between * round_link(at, rounds.pattern, round.step, staged).link.beta);
    }
  }
  return least;
}

Seconds ExchangeTimes::gather_time(RingTime ring, bool two_levels, Bytes message, const GroupLinks& at, bool staged) const {
  if (!two_levels) return ring(message, at.group.ranks, (staged ? at.host_flat : at.flat).link);
  const double in_node = at.group.members[0];
  return ring(message, in_node, at.inside.link) +
         ring(message / in_node, at.group.nodes(), (staged ? at.host_slices : at.slices).link);
}

Seconds ExchangeTimes::all_to_all_time(Bytes message, const GroupLinks& at, bool staged) {
  if (at.group.outermost == 0)
    return pairwise_all_to_all_time(message, at.group.ranks, (staged ? at.host_flat : at.flat).link);
  return hierarchical_all_to_all_time(message, at.group.members[0], at.group.nodes(), at.inside.link,
                                      (staged ? at.host_slices : at.slices).link);
}

Seconds ExchangeTimes::rooted_time(Collective operation, bool by_tree, Bytes message, const GroupLinks& at,
                                   bool staged) const {
  const Link& link = (staged ? at.host_flat : at.flat).link;
  const double ranks = at.group.ranks;
  const bool adds = operation == Collective::reduce;
  if (by_tree) return (adds ? tree_reduce_time : tree_broadcast_time)(message, ranks, link);
  const LibraryConstants* const constants = library(at, staged);
  if (constants == nullptr) return (adds ? chain_reduce_time : chain_broadcast_time)(message, ranks, link);
  // The library's ring sends P−1 shares of a vector over each link. Here, it sends the whole vector.
  LibraryGroup group = library_group(at);
  if (!adds) group.add = {};
  return library_ring_time(1, message * (ranks / (ranks - 1)), group, *constants);
}

ExchangeTimes::Predicted ExchangeTimes::rooted(Collective operation, Bytes message, const GroupLinks& at) const {
  const bool staged = is_staged(at, at.purpose);
  const Bottleneck& bottleneck = (staged ? at.host_flat : at.flat).bottleneck;
  const auto along = [&](std::string_view algorithm) -> Predicted {
    return {algorithm, rooted_time(operation, algorithm == tree, message, at, staged), bottleneck};
  };
  if (const std::optional<AllreduceAlgorithm> fixed = prescribed(at.purpose))
    return along(*fixed == AllreduceAlgorithm::tree ? tree : chain);
  Predicted best = along(tree);
  if (const Predicted other = along(chain); other.time < best.time) best = other;
  const Choice whole = allreduce(message, at.axes, at.purpose);
  // A sparse Allreduce does not send the whole vector.
  const bool is_whole = whole.measured || whole.algorithm != AllreduceAlgorithm::sparse;
  return is_whole && whole.time < best.time ? Predicted{as_allreduce, whole.time, whole.bottleneck} : best;
}

Seconds ExchangeTimes::startup(Collective operation, Bytes message, Family axes, Purpose purpose) const {
  const GroupLinks& own = links(axes, purpose);
  if (own.group.ranks <= 1) return {};
  if (operation == Collective::point_to_point) return neighbour_link(axes, purpose).link.alpha;
  return shared({own.place, operation, KnownTimes::Kind::startup, message.value()},
                [&] { return startup_of(operation, message, own); });
}

Seconds ExchangeTimes::startup_of(Collective operation, Bytes message, const GroupLinks& own) const {
  const Family axes = own.axes;
  const Purpose purpose = own.purpose;
  if (const std::optional<Parts> measured = measured_time(operation, message, own, purpose)) return measured->startups;
  const bool staged = is_staged(own, purpose);
  const GroupLinks& at = links(axes, purpose, true);
  const LibraryConstants* const constants = library(at, staged);
  switch (operation) {
    case Collective::allreduce:
      return allreduce_time(allreduce(message, axes, purpose).algorithm, message, at, staged);
    case Collective::allgather:
    case Collective::reduce_scatter: {
      if (constants != nullptr && !software_.layer_algorithm)
        return library_ring_time(1, message, library_group(at), *constants);
      const bool two_levels = fastest(operation, message, axes, purpose).algorithm == hierarchical;
      const RingTime ring = operation == Collective::allgather ? ring_allgather_time : ring_reduce_scatter_time;
      return gather_time(ring, two_levels, message, at, staged);
    }
    case Collective::all_to_all:
      if (constants != nullptr) return library_all_to_all_time(message, library_group(at), *constants);
      return all_to_all_time(message, at, staged);
    case Collective::point_to_point:
      break;
    case Collective::broadcast:
    case Collective::reduce: {
      const std::string_view algorithm = rooted(operation, message, own).algorithm;
      if (algorithm == as_allreduce) return startup(Collective::allreduce, message, axes, purpose);
      return rooted_time(operation, algorithm == tree, message, at, staged);
    }
  }
  return {};
}

ExchangeTimes::Predicted ExchangeTimes::fastest(Collective operation, Bytes message, Family axes, Purpose purpose) const {
  const GroupLinks& at = links(axes, purpose);
  const double ranks = at.group.ranks;
  if (ranks <= 1) return {};
  const bool staged = is_staged(at, purpose);
  const SharedLink& shared = staged ? at.host_flat : at.flat;
  const SharedLink& slices = staged ? at.host_slices : at.slices;
  if (operation != Collective::allreduce) {
    if (const std::optional<Parts> measured = measured_time(operation, message, at, purpose))
      return {measured_exchange, measured->startups + measured->bytes, {}};
  }
  const LibraryConstants* const constants = library(at, staged);
  const auto ring_of = [&](RingTime ring, const GroupLinks& way) -> Predicted {
    if (constants != nullptr && !software_.layer_algorithm) {
      LibraryGroup group = library_group(way);
      if (operation == Collective::allgather) group.add = {};
      return {"ring", library_ring_time(1, message, group, *constants), shared.bottleneck};
    }
    const Seconds one_ring = gather_time(ring, false, message, way, staged);
    if (assumptions_.ring_only || software_.layer_algorithm || !has_levels(way.group))
      return {"ring", one_ring, shared.bottleneck};
    const Seconds two_levels = gather_time(ring, true, message, way, staged);
    return two_levels < one_ring ? Predicted{hierarchical, two_levels, slices.bottleneck}
                                 : Predicted{"ring", one_ring, shared.bottleneck};
  };
  const auto gathered = [&](RingTime ring) -> Predicted {
    Predicted found = ring_of(ring, at);
    if (!may_be_measured(at, purpose)) return found;
    // Links have fitted and congestion factors; measured times have none.
    const double factor = std::max(
        least_factor, learned_[path_coefficients(purpose).beta] * congestion_factor(at.group, 0, at.group.outermost));
    const Seconds start = ring_of(ring, links(axes, purpose, true)).time;
    found.time = agreeing(found.time / factor, start / factor, operation, message, at) * factor;
    return found;
  };
  switch (operation) {
    case Collective::allreduce: {
      const Choice choice = allreduce(message, axes, purpose);
      return {choice.name(), choice.time, choice.bottleneck};
    }
    case Collective::allgather:
      return gathered(ring_allgather_time);
    case Collective::reduce_scatter:
      return gathered(ring_reduce_scatter_time);
    case Collective::all_to_all: {
      if (constants != nullptr)
        return {"pairwise", library_all_to_all_time(message, library_group(at), *constants), slices.bottleneck};
      return {"pairwise", all_to_all_time(message, at, staged), (at.group.outermost == 0 ? shared : slices).bottleneck};
    }
    case Collective::broadcast:
    case Collective::reduce:
      return rooted(operation, message, at);
    case Collective::point_to_point: {
      const SharedLink neighbour = neighbour_link(axes, purpose);
      return {"neighbour", neighbour.link.alpha + message * neighbour.link.beta, neighbour.bottleneck};
    }
  }
  return {};
}

}  // namespace ddl
