#include <algorithm>

#include "estimator/exchanges/collectives/rounds.hpp"
#include "estimator/exchanges/collectives/times.hpp"

namespace ddl {

// A Reduce-scatter by halving is followed by an Allgather by doubling. The time is 2α⌈log2 P⌉ + 2mβ(P−1)/P + mc(P−1)/P
// [BH18, §2].
Seconds rabenseifner_allreduce_time(Bytes message, double ranks, const Link& link) {
  if (ranks <= 1) return {};
  const double moved = (ranks - 1) / ranks;  // share of the vector that each of the two phases sends
  return 2.0 * log2_rounds(ranks) * link.alpha + 2.0 * moved * (message * link.beta) + moved * (message * link.add);
}

std::vector<HalvingRound> halving_rounds(double ranks) {
  std::vector<HalvingRound> rounds;
  const double count = log2_rounds(ranks);
  double part = 0.5;
  double left = (ranks - 1) / ranks;
  double step = 1;
  for (double round = 0; round < count; ++round) {
    // If the number of ranks is not a power of two, the last round sends the remaining part of the vector.
    const double own = round + 1 < count ? std::min(part, left) : left;
    rounds.push_back({step, own});
    left -= own;
    step *= 2;
    part /= 2;
  }
  return rounds;
}

// The first round of MPICH's halving exchanges half of the vector with the rank P/2 places away [Thak05].
std::vector<HalvingRound> far_halving_rounds(double ranks) {
  const std::vector<HalvingRound> near = halving_rounds(ranks);
  std::vector<HalvingRound> rounds;
  for (std::size_t i = 0; i < near.size(); ++i) rounds.push_back({near[near.size() - 1 - i].step, near[i].part});
  return rounds;
}

}  // namespace ddl
