#include "estimator/exchanges/collectives/times.hpp"

namespace ddl {
namespace {

/// If φ flows share a link, each flow takes the time φβ per byte. φ is at least 1 [Mart11].
Link shared_by(const Link& link, double phi) { return {link.alpha, phi * link.beta, link.add}; }

}  // namespace

// Each node runs a Reduce-scatter. Then g ring Allreduces of one slice each run between the nodes at once, and each node
// runs an Allgather. The time is 2(g−1)(αi + m/g·βi) + 2(n−1)(αe + m/(gn)·φβe), plus m·ci(g−1)/g + (m/g)·ce(n−1)/n for the
// reduction [BH18, §2; ParaDL].
Seconds hierarchical_allreduce_time(Bytes message, double ranks_per_node, double nodes, const Link& inside,
                                    const Link& between, double phi) {
  const Bytes slice = ranks_per_node > 1 ? message / ranks_per_node : message;
  return ring_reduce_scatter_time(message, ranks_per_node, inside) +
         ring_allreduce_time(slice, nodes, shared_by(between, phi)) + ring_allgather_time(message, ranks_per_node, inside);
}

// Each node runs a Reduce-scatter. Each rank sends its slice once to the switches, which add the slices of all nodes while
// they arrive, and receives the sum; then each node runs an Allgather. A slice crosses the network once in each direction,
// whatever the number of nodes [Graham et al., "SHArP", COMHPC 2016; between the devices of a node: Klenk et al., ISCA
// 2020].
Seconds in_network_allreduce_time(Bytes message, double ranks_per_node, double nodes, const Link& inside,
                                  const Link& between) {
  const Bytes slice = ranks_per_node > 1 ? message / ranks_per_node : message;
  const Seconds through = nodes > 1 ? between.alpha + slice * between.beta : Seconds{};
  return ring_reduce_scatter_time(message, ranks_per_node, inside) + through +
         ring_allgather_time(message, ranks_per_node, inside);
}

// The ranks of a node reduce to a leader, the leaders run a ring Allreduce of whole vectors, and each leader broadcasts
// inside its node. The time is 2(g−1)(αi + m/g·βi) + 2(n−1)(αe + m/n·φβe), plus the reduction of the rings [ParaDL]. As in
// [ParaDL], reduce and broadcast each take half as long as a ring Allreduce.
Seconds leader_allreduce_time(Bytes message, double ranks_per_node, double nodes, const Link& inside, const Link& between,
                              double phi) {
  return ring_allreduce_time(message, ranks_per_node, inside) + ring_allreduce_time(message, nodes, shared_by(between, phi));
}

// Each of the k leaders of a node exchanges 1/k of the vector [Bayatpour et al., SC'17; Nguyen et al., CANDARW 2018]. The
// time is 2(g−1)(αi + m/g·βi) + 2(n−1)(αe + m/(kn)·βe), plus the reduction of the rings. βe is the time per byte of the
// links that the leaders of a node share.
Seconds multi_leader_allreduce_time(Bytes message, double ranks_per_node, double nodes, double leaders, const Link& inside,
                                    const Link& between) {
  return ring_allreduce_time(message, ranks_per_node, inside) + ring_allreduce_time(message / leaders, nodes, between);
}

}  // namespace ddl
