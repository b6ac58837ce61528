#include "estimator/exchanges/collectives/times.hpp"

namespace ddl {

// The time is (P−1)(α + mβ + mc) [BH18, §2]. The root receives P−1 messages one after the other. The term with c is not in
// [BH18].
Seconds linear_reduce_time(Bytes message, double ranks, const Link& link) {
  if (ranks <= 1) return {};
  return (ranks - 1) * (link.alpha + message * link.beta + message * link.add);
}

// A linear reduce is followed by a linear broadcast, which has no additions. The time is 2(P−1)(α + mβ) + (P−1)mc [BH18,
// §2].
Seconds linear_allreduce_time(Bytes message, double ranks, const Link& link) {
  if (ranks <= 1) return {};
  const Seconds broadcast = (ranks - 1) * (link.alpha + message * link.beta);
  return linear_reduce_time(message, ranks, link) + broadcast;
}

}  // namespace ddl
