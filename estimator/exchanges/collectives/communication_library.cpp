#include "estimator/exchanges/collectives/communication_library.hpp"

#include <algorithm>
#include <cmath>

namespace ddl {
namespace {

/// Returns the time of a pipeline: start-ups, bytes, and the time to fill it, `fill`·√(start-ups · bytes).
Seconds pipelined(Seconds startups, Seconds bytes, double fill, const LibraryGroup& group) {
  const double waiting = std::sqrt(startups.value() * bytes.value() * (group.beta_factor / group.alpha_factor));
  return startups + bytes + Seconds(fill * waiting);
}

Seconds call_of(const LibraryGroup& group, const LibraryConstants& constants) { return group.alpha_factor * constants.call; }

/// Returns how many times the vector leaves a node in an Allreduce over two trees. A node is a leaf of one tree and has two
/// children in the other tree. If there are only two nodes, each node is the root of one tree and the only child in the
/// other tree.
double crossings(double nodes) { return nodes > 2 ? 2 : 1; }

}  // namespace

/// The share of the links that a ring inside a node uses.
double used_links(const LibraryGroup& group, const LibraryConstants& constants) {
  return 1 - constants.idle_links / group.ranks;
}

// r(P−1)/P · (nα + (P−n)αi) for start-ups and r(P−1)/P · mβ for bytes: n of the P hops round the ring lead to another node.
// The library takes the shorter of two protocols: s + b/q, and s + αb + b, with start-ups s and bytes b.
Seconds library_ring_time(double rounds, Bytes message, const LibraryGroup& group, const LibraryConstants& constants) {
  const double turns = rounds * (group.ranks - 1) / group.ranks;
  const Seconds startups = turns * (group.nodes * group.between + (group.ranks - group.nodes) * group.inside);
  const Seconds adding = message * group.add * ((group.ranks - 1) / group.ranks);
  const Seconds bytes = turns * (message * group.ring) / used_links(group, constants);
  const Seconds quick = pipelined(startups, bytes / constants.quick, constants.ring_fill, group);
  const Seconds bulk = pipelined(startups + group.alpha_factor * constants.bulk, bytes, constants.ring_fill, group);
  return call_of(group, constants) + min(quick, bulk) + adding;
}

// Start-ups take 2·log2(n)·tα + 2(g−1)·t′αi. Bytes take c·mβ to leave a node or 2mβi along the
// node's chain, whichever is longer.
Seconds library_tree_time(Bytes message, const LibraryGroup& group, const LibraryConstants& constants) {
  const double in_node = group.ranks / group.nodes;
  const Seconds startups = 2 * std::log2(group.nodes) * constants.tree_level * group.between +
                           2 * (in_node - 1) * constants.tree_inside * group.inside;
  Seconds bytes = crossings(group.nodes) * (message * group.out_of_node);
  if (in_node > 1) bytes = max(bytes, 2.0 * (message * group.in_node));
  return call_of(group, constants) + pipelined(startups, bytes, constants.tree_fill, group) + message * group.add;
}

// The j ranks of a node that send together pass their parts on inside the node, in (j−1)αi. The first message takes α, and
// each of the (P−g)/j−1 others m′α. Bytes take (m/P)(P−g)β/s. Traffic inside a node overlaps with traffic between nodes.
Seconds library_all_to_all_time(Bytes message, const LibraryGroup& group, const LibraryConstants& constants) {
  const double in_node = group.ranks / group.nodes, others = group.ranks - in_node;
  const double together = std::max(1.0, std::min(constants.grouped, in_node));
  const Seconds messages = (1 + (others / together - 1) * constants.message) * group.between + (together - 1) * group.inside;
  const Seconds bytes =
      (others / group.ranks / (constants.all_to_all * used_links(group, constants))) * (message * group.exchanged);
  return call_of(group, constants) + messages +
         min(bytes / constants.all_to_all_quick, group.alpha_factor * constants.all_to_all_bulk + bytes);
}

Seconds library_least_time(Bytes message, const LibraryGroup& group) {
  const Seconds ring = ((group.ranks - 1) / group.ranks) * (message * group.ring);
  return min(ring, (0.5 * crossings(group.nodes)) * (message * group.out_of_node));
}

}  // namespace ddl
