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
