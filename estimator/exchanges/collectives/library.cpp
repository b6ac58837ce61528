#include "estimator/exchanges/collectives/library.hpp"

#include <cmath>

namespace ddl {
namespace {

/// Returns the time of a pipeline: start-ups, bytes, and the time to fill it, `fill`·√(start-ups · bytes).
Seconds pipelined(Seconds startups, Seconds bytes, double fill, const LibraryGroup& group) {
  const double waiting = std::sqrt(startups.value() * bytes.value() * (group.beta_factor / group.alpha_factor));
  return startups + bytes + Seconds(fill * waiting);
}

Seconds call_of(const LibraryGroup& group, const LibraryHabits& habits) { return group.alpha_factor * habits.call; }

/// Returns how many times the vector leaves a node in an Allreduce over two trees. A node is a leaf of one tree and has two
/// children in the other tree. If there are only two nodes, each node is the root of one tree and the only child in the
/// other tree.
double crossings(double nodes) { return nodes > 2 ? 2 : 1; }

}  // namespace

// Start-ups take r(P−1)/P · (nα + (P−n)αi), and bytes take r(P−1)/P · mβ. Of the P hops round the ring, n lead to another
// node.
Seconds library_ring_time(double rounds, Bytes message, const LibraryGroup& group, const LibraryHabits& habits) {
  const double turns = rounds * (group.ranks - 1) / group.ranks;
  const Seconds startups = turns * (group.nodes * group.between + (group.ranks - group.nodes) * group.inside);
  const Seconds adding = message * group.add * ((group.ranks - 1) / group.ranks);
  return call_of(group, habits) + pipelined(startups, turns * (message * group.ring), habits.ring_fill, group) + adding;
}

// Start-ups take 2·log2(n)·tα + 2(g−1)·t′αi. Bytes take c·mβ to leave a node or 2mβi along the
// node's chain, whichever is longer.
Seconds library_tree_time(Bytes message, const LibraryGroup& group, const LibraryHabits& habits) {
  const double in_node = group.ranks / group.nodes;
  const Seconds startups =
      2 * std::log2(group.nodes) * habits.tree_level * group.between + 2 * (in_node - 1) * habits.tree_inside * group.inside;
  Seconds bytes = crossings(group.nodes) * (message * group.out_of_node);
  if (in_node > 1) bytes = max(bytes, 2.0 * (message * group.in_node));
  return call_of(group, habits) + pipelined(startups, bytes, habits.tree_fill, group) + message * group.add;
}

// The time is (P−g)·m′α + (m/P)(P−g)β/s. Traffic inside a node overlaps with traffic between nodes.
Seconds library_all_to_all_time(Bytes message, const LibraryGroup& group, const LibraryHabits& habits) {
  const double others = group.ranks - group.ranks / group.nodes;
  return call_of(group, habits) + others * habits.message * group.between +
         (others / group.ranks / habits.all_to_all) * (message * group.exchanged);
}

Seconds library_least_time(Bytes message, const LibraryGroup& group) {
  const Seconds ring = ((group.ranks - 1) / group.ranks) * (message * group.ring);
  return min(ring, (0.5 * crossings(group.nodes)) * (message * group.out_of_node));
}

}  // namespace ddl
