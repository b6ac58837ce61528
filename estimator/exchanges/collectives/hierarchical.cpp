#include "estimator/exchanges/collectives/times.hpp"

namespace ddl {
namespace {

/// A link that φ flows share: each flow takes φβ per byte. φ is at least 1 [Mart11].
Link shared_by(const Link& link, double phi) { return {link.alpha, phi * link.beta, link.add}; }

}  // namespace

// 2(g−1)(αi + m/g·βi) + 2(n−1)(αe + m/(gn)·φβe), plus m·ci(g−1)/g + (m/g)·ce(n−1)/n for the
// reduction. [BH18] §2, [ParaDL]: a Reduce-scatter inside each node, then g concurrent ring
// Allreduces of one slice each between the nodes, then an Allgather inside each node.
Seconds hierarchical_allreduce_time(Bytes message, double ranks_per_node, double nodes, const Link& inside,
                                    const Link& between, double phi) {
  const Bytes slice = ranks_per_node > 1 ? message / ranks_per_node : message;
  return ring_reduce_scatter_time(message, ranks_per_node, inside) +
         ring_allreduce_time(slice, nodes, shared_by(between, phi)) + ring_allgather_time(message, ranks_per_node, inside);
}

// 2(g−1)(αi + m/g·βi) + 2(n−1)(αe + m/n·φβe), plus the reduction of the rings. [ParaDL]: the ranks of a node reduce to a
// leader, the leaders run a ring Allreduce of whole vectors, and each leader broadcasts inside its node. As in [ParaDL],
// reduce and broadcast each take half as long as a ring Allreduce.
Seconds leader_allreduce_time(Bytes message, double ranks_per_node, double nodes, const Link& inside, const Link& between,
                              double phi) {
  return ring_allreduce_time(message, ranks_per_node, inside) + ring_allreduce_time(message, nodes, shared_by(between, phi));
}

// 2(g−1)(αi + m/g·βi) + 2(n−1)(αe + m/(kn)·βe), plus the reduction of the rings. Each of the k
// leaders of a node has its own part of the vector [Bayatpour et al., SC'17; Nguyen et al., CANDARW
// 2018]. βe is the time per byte of the links that the leaders of a node share.
Seconds multi_leader_allreduce_time(Bytes message, double ranks_per_node, double nodes, double leaders, const Link& inside,
                                    const Link& between) {
  return ring_allreduce_time(message, ranks_per_node, inside) + ring_allreduce_time(message / leaders, nodes, between);
}

}  // namespace ddl
