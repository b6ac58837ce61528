#include "estimator/exchanges/collectives/times.hpp"

namespace ddl {

// Slices of the full vector m go once around the ring. The time is (P−1)(α + (m/P)β) [ParaDL, Table III].
Seconds ring_allgather_time(Bytes message, double ranks, const Link& link) {
  if (ranks <= 1) return {};
  return (ranks - 1) * (link.alpha + message / ranks * link.beta);
}

// This is the first half of the ring Allreduce. In each round, a rank adds one slice. The time is (P−1)(α + (m/P)β) +
// mc(P−1)/P [BH18, §2].
Seconds ring_reduce_scatter_time(Bytes message, double ranks, const Link& link) {
  if (ranks <= 1) return {};
  return ring_allgather_time(message, ranks, link) + (ranks - 1) * (message / ranks * link.add);
}

// A Reduce-scatter is followed by an Allgather. The time is 2(P−1)(α + (m/P)β) + mc(P−1)/P [BH18, §2; ParaDL, Table III].
Seconds ring_allreduce_time(Bytes message, double ranks, const Link& link) {
  return ring_reduce_scatter_time(message, ranks, link) + ring_allgather_time(message, ranks, link);
}

}  // namespace ddl
