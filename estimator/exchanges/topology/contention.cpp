#include "estimator/exchanges/topology/contention.hpp"

#include <algorithm>

#include "estimator/exchanges/topology/network.hpp"

namespace ddl {
namespace {

SecondsPerByte per_byte(Bandwidth bandwidth) { return SecondsPerByte(1.0 / bandwidth.value()); }

/// Returns the number of flows that one unit of level `l−1` sends up into level `l` at once. Each
/// group with ranks in the unit sends `per_group` flows.
double uplink_flows(const Group& group, std::size_t level, double per_group) {
  return level == 0 ? 1.0 : group.flows[level - 1] * per_group;
}

/// Makes a link the bottleneck of the flow if the link is slower than all links before it.
void narrow(SharedLink& shared, SecondsPerByte beta, const Bottleneck& bottleneck) {
  if (beta <= shared.link.beta) return;
  shared.link.beta = beta;
  shared.bottleneck = bottleneck;
}

/// Returns how many ranks of a group are in one unit of level `l−1`.
double members_below(const Group& group, std::size_t level) {
  return level == 0 ? 1.0 : std::max(1.0, group.members[level - 1]);
}

/// Returns the measured φ of links that this number of flows share. A striped flow counts as `members` flows, because each
/// of its group's ranks in the unit sends a part of the bytes.
std::optional<double> known_phi(const std::vector<MeasuredContention>& measured, std::string_view level, double flows,
                                bool striped, double members) {
  if (measured.empty()) return std::nullopt;
  if (!striped) return measured_phi(measured, level, flows);
  const std::optional<double> phi = measured_phi(measured, level, flows * members);
  return phi ? std::optional(*phi / members) : std::nullopt;
}

/// Returns the rails of a level that a group uses. In a mesh, these are only the links between the group's ranks. A group
/// with one rank on each node uses no link of the mesh, which therefore does not limit the group.
double rails_of(const Group& group, const LinkLevel& at) {
  if (at.peers <= 0 || group.members[0] <= 1) return at.rails;
  return at.rails * std::clamp((group.members[0] - 1) / at.peers, 1 / at.peers, 1.0);
}

/// Updates β and φ for a level whose links carry this number of flows.
void cross(SharedLink& shared, const LinkLevel& at, double rails, double flows, bool striped, double members,
           const std::vector<MeasuredContention>& measured) {
  // A striped flow uses every link, so each link carries flows/links flows, which is less than one
  // if there are more links than flows.
  const double ratio = striped ? flows / rails : std::max(1.0, flows / rails);
  const std::optional<double> known = known_phi(measured, at.name, flows, striped, members);
  const double phi = known.value_or(ratio);
  narrow(shared, per_byte(at.bandwidth) * phi, {at.name, flows, rails, std::max(1.0, phi), known.has_value()});
}

/// Sets β and φ for a network that is not a tree. The network's links replace the links of all levels outside the node.
void cross_network(SharedLink& shared, const Machine& machine, const Group& group, const Flows& flows,
                   const std::vector<MeasuredContention>& measured) {
  const LinkLevel& nic = machine.levels[1];
  const NetworkShare share = machine.network->share(group, flows);
  if (share.rate <= 0) {  // no flow leaves its node
    shared.link.alpha = machine.levels[0].latency;
    return;
  }
  shared.link.alpha += machine.shape.hop_latency * std::max(0.0, share.hops - 1);
  const std::optional<double> known =
      known_phi(measured, nic.name, uplink_flows(group, 1, flows.per_group), flows.striped, members_below(group, 1));
  if (known) {
    narrow(shared, per_byte(nic.bandwidth) * *known,
           {nic.name, uplink_flows(group, 1, flows.per_group), nic.rails, std::max(1.0, *known), true});
    return;
  }
  narrow(shared, per_byte(Bandwidth(share.rate)), {share.where, share.flows, share.links, share.phi, false});
}

}  // namespace

std::optional<double> measured_phi(const std::vector<MeasuredContention>& measured, std::string_view level, double flows) {
  const MeasuredContention* below = nullptr;
  const MeasuredContention* above = nullptr;
  for (const MeasuredContention& one : measured) {
    if (one.level != level) continue;
    if (one.groups <= flows && (below == nullptr || one.groups > below->groups)) below = &one;
    if (one.groups >= flows && (above == nullptr || one.groups < above->groups)) above = &one;
  }
  if (below == nullptr && above == nullptr) return std::nullopt;
  if (below == nullptr) return above->phi * flows / above->groups;
  if (above == nullptr) return below->phi * flows / below->groups;
  if (above == below) return below->phi;
  const double part = (flows - below->groups) / (above->groups - below->groups);
  return below->phi + part * (above->phi - below->phi);
}

SharedLink share_of_levels(const Machine& machine, const Group& group, const Flows& flows, bool contention,
                           const std::vector<MeasuredContention>& measured) {
  const std::size_t outermost = std::min(flows.to, group.outermost);
  SharedLink shared;
  shared.link.alpha = machine.levels[outermost].latency;  // α of the outermost hop
  for (std::size_t level = flows.from; level <= outermost; ++level) {
    if (level > 0 && contention && machine.network) {
      cross_network(shared, machine, group, flows, measured);
      break;
    }
    const LinkLevel& at = machine.levels[level];
    if (contention && level == 0 && at.peers > 0 && flows.pattern == Pattern::neighbours) {
      // In a mesh, only the links between two devices lead from one to the other.
      cross(shared, at, at.rails / at.peers, 1, true, 1, {});
    } else if (contention) {
      // Partners of an exchange are in other units, so each rank of a unit sends a flow of its own.
      const bool all_send = flows.pattern == Pattern::exchange;
      const double members = members_below(group, level);
      cross(shared, at, rails_of(group, at), uplink_flows(group, level, all_send ? members : flows.per_group), flows.striped,
            all_send ? 1 : members, measured);
    } else {
      narrow(shared, per_byte(at.bandwidth), {at.name, 1, 1, 1, false});
    }
  }
  return shared;
}

SharedLink share_through_host(const Machine& machine, const Group& group, const Flows& flows,
                              const std::vector<MeasuredContention>& measured) {
  const HostPath& host = *machine.host;
  SharedLink shared;
  shared.link.alpha = machine.levels[group.outermost].latency;
  // A transfer crosses the device's link to the host and the host's link to a NIC or device. If NIC and device share a PCIe
  // link, the transfer crosses this link twice. A message uses a single rail.
  const SecondsPerByte down_and_up = per_byte(host.bandwidth) * 2.0;
  if (group.outermost == 0) {
    const double sharers = host.devices_per_link;
    narrow(shared, down_and_up * sharers, {"host link", sharers, 1, sharers, false});
    return shared;
  }
  const double host_links = std::max(1.0, static_cast<double>(machine.devices_per_node()) / host.devices_per_link);
  Flows on_one_link = flows;
  on_one_link.striped = false;
  for (std::size_t level = 1; level <= std::min(flows.to, group.outermost); ++level) {
    if (machine.network) {
      cross_network(shared, machine, group, on_one_link, measured);
      break;
    }
    const LinkLevel& at = machine.levels[level];
    cross(shared, at, at.rails, uplink_flows(group, level, flows.per_group), false, 1, measured);
  }
  const double leaving = group.flows[0] * flows.per_group;
  const double sharing = std::max(1.0, leaving / host_links);
  narrow(shared, down_and_up * sharing, {"host link", leaving, host_links, sharing, false});
  return shared;
}

}  // namespace ddl
