#include "estimator/exchanges/collectives/times.hpp"

namespace ddl {

// The time is 2(P−1)α + 2(P−1)N2β if the vector stays sparse. If full blocks become dense, the time is 2(P−1)α +
// 2(P−1)·min(N2, N1/P)·β, because no block of the ring need be larger than its dense slice [Nguyen, Wahib and Takano,
// "Topology-aware sparse Allreduce for large-scale deep learning", IPCCC 2019]. The compression time is added in either
// case.
Seconds sparse_allreduce_time(Bytes sparse, std::optional<Bytes> dense, double ranks, Seconds compression,
                              const Link& link) {
  if (ranks <= 1) return {};
  const Bytes block = dense ? min(sparse, *dense / ranks) : sparse;
  return 2.0 * (ranks - 1) * (link.alpha + block * link.beta) + compression;
}

}  // namespace ddl
