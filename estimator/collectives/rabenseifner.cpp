#include "estimator/collective.hpp"
#include "estimator/collectives/rounds.hpp"

namespace ddl {

// 2α⌈log2 P⌉ + 2mβ(P−1)/P + mc(P−1)/P. [BH18] §2: Reduce-scatter by halving, then Allgather by doubling.
Seconds rabenseifner_allreduce_time(Bytes message, double ranks, const Link& link) {
  if (ranks <= 1) return {};
  const double moved = (ranks - 1) / ranks;  // of the vector, in each of the two phases
  return 2.0 * log2_rounds(ranks) * link.alpha + 2.0 * moved * (message * link.beta) + moved * (message * link.add);
}

}  // namespace ddl
