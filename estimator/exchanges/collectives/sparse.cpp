#include "estimator/exchanges/collectives/times.hpp"

namespace ddl {

// Sparse only: 2(P−1)α + 2(P−1)N2β. Sparse, then dense: 2(P−1)α + 2(P−1)·min(N2, N1/P)·β, because no block of the ring need
// be larger than its dense slice. [BH18] §2; the compression time is added to both.
Seconds sparse_allreduce_time(Bytes sparse, std::optional<Bytes> dense, double ranks, Seconds compression,
                              const Link& link) {
  if (ranks <= 1) return {};
  const Bytes block = dense ? min(sparse, *dense / ranks) : sparse;
  return 2.0 * (ranks - 1) * (link.alpha + block * link.beta) + compression;
}

}  // namespace ddl
