#include "estimator/exchanges/collectives/rounds.hpp"
#include "estimator/exchanges/collectives/times.hpp"

namespace ddl {

// α⌈log2 P⌉ + 2mβ(P−1)/P. [BH18] §2: news of one rank needs that many rounds to reach the others, and every rank must both
// give away and take in all but its own slice. For ranks with one port that exchange dense vectors.
Seconds allreduce_lower_bound(Bytes message, double ranks, const Link& link) {
  if (ranks <= 1) return {};
  return log2_rounds(ranks) * link.alpha + 2.0 * ((ranks - 1) / ranks) * (message * link.beta);
}

}  // namespace ddl
