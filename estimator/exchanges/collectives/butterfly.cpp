#include "estimator/exchanges/collectives/rounds.hpp"
#include "estimator/exchanges/collectives/times.hpp"

namespace ddl {

// The time is (α + mβ + mc)⌈log2 P⌉ [BH18, §2]. In every round, each rank exchanges the whole vector with a partner and adds
// both vectors. The distance to the partner doubles from round to round.
Seconds butterfly_allreduce_time(Bytes message, double ranks, const Link& link) {
  if (ranks <= 1) return {};
  return log2_rounds(ranks) * (link.alpha + message * link.beta + message * link.add);
}

}  // namespace ddl
