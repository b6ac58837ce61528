#include "estimator/exchanges/collectives/rounds.hpp"
#include "estimator/exchanges/collectives/times.hpp"

namespace ddl {

// The bound is α⌈log2 P⌉ + 2mβ(P−1)/P [BH18, §2]. Data of one rank needs ⌈log2 P⌉ rounds to reach all ranks, and every rank
// must send and receive all slices except its own. The bound holds for dense vectors, and for ranks that send one message at
// a time.
Seconds allreduce_lower_bound(Bytes message, double ranks, const Link& link) {
  if (ranks <= 1) return {};
  return log2_rounds(ranks) * link.alpha + 2.0 * ((ranks - 1) / ranks) * (message * link.beta);
}

}  // namespace ddl
