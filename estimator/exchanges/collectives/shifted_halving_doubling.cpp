#include <cmath>

#include "estimator/exchanges/collectives/times.hpp"

namespace ddl {

// In each round, every rank sends to the rank s places ahead and receives from the rank s places behind, with s = ⌈p/2⌉,
// ⌈⌈p/2⌉/2⌉, …, 1. A rank sends the blocks that belong to ranks at least s places ahead. On a ring with links over s places,
// no link therefore carries two messages of one round. The algorithm is halving-doubling, shifted along a distributed loop
// network [Nguyen and Wahib, CCGrid 2021]. [Träff, arXiv 2410.14234] covers numbers of ranks that are not powers of two.
std::vector<HalvingRound> shifted_halving_rounds(double ranks) {
  std::vector<HalvingRound> rounds;
  for (double held = ranks; held > 1;) {
    const double step = std::ceil(held / 2);
    rounds.push_back({step, (held - step) / ranks});
    held = step;
  }
  return rounds;
}

// The time is 2α⌈log2 P⌉ + 2mβ(P−1)/P + mc(P−1)/P, because the rounds together send (P−1)/P of the vector in each phase.
Seconds shifted_halving_doubling_allreduce_time(Bytes message, double ranks, const Link& link) {
  return rabenseifner_allreduce_time(message, ranks, link);
}

}  // namespace ddl
