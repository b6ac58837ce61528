#pragma once

#include <span>
#include <vector>

namespace ddl {

/// Ranks that communicate with each other, and the kind of links between them.
struct SweepGroup {
  std::vector<int> ranks{};
  int nodes = 1;  ///< number of their nodes
  friend bool operator==(const SweepGroup&, const SweepGroup&) = default;
};

/// The pairs of the two-rank tests: one inside the node with most ranks, one between the first two nodes, if they exist.
/// `nodes` has the node of each rank, from 0.
[[nodiscard]] std::vector<SweepGroup> sweep_pairs(std::span<const int> nodes);

/// The groups of the collective tests: 2, 4, 8, … ranks and all of one node; one rank each of 2, 4, 8, … and all nodes; all
/// ranks, with the same number on each node. Several rank counts per level make algorithms distinguishable. A process
/// without a launcher is a group of one.
[[nodiscard]] std::vector<SweepGroup> sweep_collective_groups(std::span<const int> nodes);

/// Sets of 1, 2, 4, … and all concurrent groups across nodes: group k has the k-th rank of each node. Empty if there is one
/// node, or one rank per node.
[[nodiscard]] std::vector<std::vector<std::vector<int>>> sweep_contenders(std::span<const int> nodes);

}  // namespace ddl
