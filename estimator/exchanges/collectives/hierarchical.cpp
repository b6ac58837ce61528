#include "estimator/exchanges/collectives/times.hpp"

namespace ddl {
namespace {

/// A link that φ flows share: every flow takes φβ per byte. φ is at least 1 [Mart11].
Link shared_by(const Link& link, double phi) { return {link.alpha, phi * link.beta, link.add}; }

}  // namespace

// 2(g−1)(αi + m/g·βi) + 2(n−1)(αe + m/(gn)·φβe), and m·ci(g−1)/g + (m/g)·ce(n−1)/n for the reduction. [BH18] §2, [ParaDL]:
// Reduce-scatter inside, then g concurrent ring Allreduces of one slice each between the nodes, then Allgather inside.
Seconds hierarchical_allreduce_time(Bytes message, double ranks_per_node, double nodes, const Link& inside,
                                    const Link& between, double phi) {
  const Bytes slice = ranks_per_node > 1 ? message / ranks_per_node : message;
  return ring_reduce_scatter_time(message, ranks_per_node, inside) +
         ring_allreduce_time(slice, nodes, shared_by(between, phi)) + ring_allgather_time(message, ranks_per_node, inside);
}

// 2(g−1)(αi + m/g·βi) + 2(n−1)(αe + m/n·φβe), and the reduction of the rings. [ParaDL]: reduce inside to a leader, ring
// Allreduce of the leaders' whole vectors, broadcast inside. As in [ParaDL], reduce and broadcast each take half as long as
// a ring Allreduce.
Seconds leader_allreduce_time(Bytes message, double ranks_per_node, double nodes, const Link& inside, const Link& between,
                              double phi) {
  return ring_allreduce_time(message, ranks_per_node, inside) + ring_allreduce_time(message, nodes, shared_by(between, phi));
}

// 2(g−1)(αi + m/g·βi) + 2(n−1)(αe + m/(kn)·βe), and the reduction of the rings: k leaders per node, each with its own part
// of the vector [Bayatpour et al., SC'17; Nguyen et al., CANDARW 2018]. βe is the time per byte of the links that the
// leaders of a node share.
Seconds multi_leader_allreduce_time(Bytes message, double ranks_per_node, double nodes, double leaders, const Link& inside,
                                    const Link& between) {
  return ring_allreduce_time(message, ranks_per_node, inside) + ring_allreduce_time(message / leaders, nodes, between);
}

}  // namespace ddl
