#include <algorithm>
#include <cmath>
#include <numeric>

#include "estimator/exchanges/collectives/times.hpp"

namespace ddl {

// The time is (P−1)(α + (m/P)β). In round i of a pairwise exchange, every rank exchanges one slice with the rank i places
// ahead [BH18, §2].
Seconds pairwise_all_to_all_time(Bytes message, double ranks, const Link& link) {
  if (ranks <= 1) return {};
  return (ranks - 1) * (link.alpha + message / ranks * link.beta);
}

// Traffic inside a node overlaps with traffic between nodes. `calibrate` fits this formula to All-to-alls between nodes,
// without the bytes that stay inside a node.
Seconds hierarchical_all_to_all_time(Bytes message, double ranks_per_node, double nodes, const Link& inside,
                                     const Link& between) {
  const double ranks = ranks_per_node * nodes;
  const Bytes slice = message / ranks;
  const Seconds leaving = (ranks - ranks_per_node) * (slice * between.beta);
  const Seconds staying = (ranks_per_node - 1) * (slice * inside.beta);
  return (ranks - 1) * between.alpha + max(leaving, staying);
}

double units_of_groups(double units, double groups, double active) {
  if (groups <= 1 || active >= groups) return units;
  if (units >= groups) return units * active / groups;
  // A unit holds several groups. The probability that no group of the unit is chosen is C(G−G/n, g)/C(G, g).
  double none = 1;
  for (double chosen = 0; chosen < active; ++chosen)
    none *= std::max(0.0, groups - groups / units - chosen) / (groups - chosen);
  return units * (1 - none);
}

double share_of_copies(double units, double copies) {
  if (copies <= 1) return 1;
  return std::min(1.0, units * (1 - std::pow(1 - 1 / units, copies)) / copies);
}

double share_of_consecutive(double units, double experts, double copies) {
  if (copies <= 1 || units <= 0) return 1;
  const double in_unit = std::max(1.0, experts / units);
  const auto step = static_cast<double>(std::gcd(std::llround(copies), std::llround(in_unit)));
  return std::min({1.0, units / copies, (1 + (copies - step) / in_unit) / copies});
}

}  // namespace ddl
