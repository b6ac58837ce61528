#include "estimator/exchanges/topology/network.hpp"

#include <algorithm>
#include <cmath>

namespace ddl {
namespace {

/// The sender and the receiver of a message, by their positions in a group.
class Sending {
 public:
  Sending(const Group& group, const Flows& flows) : flows_(flows), ranks_(static_cast<std::int64_t>(group.ranks)) {
    const auto in_node = static_cast<std::int64_t>(std::max(1.0, std::floor(group.members[0])));
    switch (flows.pattern) {
      case Pattern::leaders:
        every_ = in_node;
        senders_ = static_cast<std::int64_t>(flows.per_group);
        step_ = in_node;
        break;
      case Pattern::slices:
        step_ = in_node;
        break;
      case Pattern::ring:
        break;
      case Pattern::neighbours:
      case Pattern::shift:
      case Pattern::exchange:
        step_ = static_cast<std::int64_t>(flows.step);
        break;
    }
  }

  /// Returns the position that this rank sends to, or the rank's own position if it sends nothing.
  [[nodiscard]] std::int64_t to(std::int64_t place) const {
    if (place % every_ >= senders_) return place;
    if (flows_.pattern == Pattern::exchange) {
      const std::int64_t other = place ^ step_;
      return other < ranks_ ? other : place;
    }
    if (flows_.pattern == Pattern::neighbours) {
      const auto extent = static_cast<std::int64_t>(flows_.extent);
      return extent > 0 && place / step_ % extent == extent - 1 ? place : (place + step_) % ranks_;
    }
    return (place + step_) % ranks_;
  }

 private:
  const Flows& flows_;
  std::int64_t ranks_, every_ = 1, senders_ = 1, step_ = 1;
};

/// Flows between the same nodes on the same lane are equal.
struct Stream {
  int from, to, lane;
  friend auto operator<=>(const Stream&, const Stream&) = default;
};

}  // namespace

Network::Network(int nodes, int devices_per_node, const LinkLevel& nic)
    : nodes_(nodes), devices_per_node_(devices_per_node), nic_{nic.name, nic.bandwidth.value()} {}

std::size_t Network::add(const Kind& kind, double links) {
  bundles_.push_back({kind.bandwidth * links, &kind});
  return bundles_.size() - 1;
}

int Network::lane_of(int, bool) const { return -1; }

NetworkShare Network::share(const Group& group, const Flows& flows) const {
  std::vector<double> key{
      group.all,    static_cast<double>(flows.pattern), flows.step,
      flows.extent, flows.striped ? 1.0 : 0.0,          flows.pattern == Pattern::leaders ? flows.per_group : 1.0};
  for (std::size_t i = 0; i < group.digit_count; ++i) {
    key.push_back(group.digits[i].size);
    key.push_back(group.digits[i].stride);
  }
  const std::lock_guard lock(mutex_);
  const auto known = known_.find(key);
  if (known != known_.end()) return known->second;
  return known_.emplace(std::move(key), lay(group, flows)).first->second;
}

NetworkShare Network::lay(const Group& group, const Flows& flows) const {
  const Sending sending(group, flows);
  std::vector<Stream> streams;
  const auto all = static_cast<std::int64_t>(group.all);
  for (std::int64_t rank = 0; rank < all; ++rank) {
    std::int64_t place = 0;
    std::int64_t weight = 1;
    std::int64_t base = rank;
    for (std::size_t i = 0; i < group.digit_count; ++i) {
      const auto size = static_cast<std::int64_t>(group.digits[i].size);
      const auto stride = static_cast<std::int64_t>(group.digits[i].stride);
      const std::int64_t digit = rank / stride % size;
      place += digit * weight;
      weight *= size;
      base -= digit * stride;
    }
    std::int64_t rest = sending.to(place);
    std::int64_t other = base;
    for (std::size_t i = 0; i < group.digit_count; ++i) {
      const auto size = static_cast<std::int64_t>(group.digits[i].size);
      other += rest % size * static_cast<std::int64_t>(group.digits[i].stride);
      rest /= size;
    }
    // A plan may have more devices than the machine. Nodes of such a plan are numbered modulo the machine's nodes.
    const auto from = static_cast<int>(rank / devices_per_node_ % nodes_);
    const auto to = static_cast<int>(other / devices_per_node_ % nodes_);
    if (from != to) streams.push_back({from, to, lane_of(static_cast<int>(other % devices_per_node_), flows.striped)});
  }
  if (streams.empty()) return {};
  std::sort(streams.begin(), streams.end());

  // Only links that carry flows are included.
  std::vector<std::size_t> used, index(bundles_.size(), bundles_.size());
  std::vector<double> capacities, load;
  std::vector<Flow> laid;
  NetworkShare share;
  for (std::size_t i = 0; i < streams.size();) {
    std::size_t end = i;
    while (end < streams.size() && streams[end] == streams[i]) ++end;
    Flow flow;
    route(streams[i].from, streams[i].to, streams[i].lane, flow.path);
    if (!flows.striped) flow.limit = nic_.bandwidth;
    double hops = 0;
    for (Crossing& crossing : flow.path) {
      std::size_t& at = index[crossing.link];
      if (at == bundles_.size()) {
        at = used.size();
        used.push_back(crossing.link);
        capacities.push_back(bundles_[crossing.link].capacity);
        load.push_back(0);
      }
      hops += std::min(1.0, crossing.amount);
      crossing.link = at;
      crossing.amount *= static_cast<double>(end - i);
      load[at] += crossing.amount;
    }
    share.hops = std::max(share.hops, std::round(hops) - 2);
    laid.push_back(std::move(flow));
    i = end;
  }
  const FairShares shares = max_min_shares(capacities, laid);
  const auto slowest =
      static_cast<std::size_t>(std::min_element(shares.rate.begin(), shares.rate.end()) - shares.rate.begin());
  share.rate = shares.rate[slowest];
  double alone = nic_.bandwidth;
  for (const Crossing& crossing : laid[slowest].path) alone = std::min(alone, bundles_[used[crossing.link]].kind->bandwidth);
  share.phi = std::max(1.0, alone / share.rate);
  const std::size_t bottleneck = shares.bottleneck[slowest];
  if (bottleneck == FairShares::own_limit) {
    share.where = nic_.name;
    return share;
  }
  const Bundle& busiest = bundles_[used[bottleneck]];
  share.where = busiest.kind->name;
  share.flows = load[bottleneck];
  share.links = busiest.capacity / busiest.kind->bandwidth;
  return share;
}

std::shared_ptr<const Network> make_network(const Machine& machine) {
  switch (machine.shape.kind) {
    case NetworkShape::Kind::fat_tree:
      return nullptr;
    case NetworkShape::Kind::rail_optimised:
      return rail_optimised_network(machine);
    case NetworkShape::Kind::dragonfly:
      return dragonfly_network(machine);
    case NetworkShape::Kind::torus:
      return torus_network(machine);
    case NetworkShape::Kind::distributed_loop:
      return distributed_loop_network(machine);
    case NetworkShape::Kind::optical_circuits:
      return optical_circuits_network(machine);
  }
  return nullptr;
}

}  // namespace ddl
