#pragma once

#include <span>
#include <vector>

namespace ddl {

/// Ranks that communicate with each other, and the number of nodes that they run on.
struct SweepGroup {
  std::vector<int> ranks{};
  int nodes = 1;  ///< number of nodes on which the ranks run
  friend bool operator==(const SweepGroup&, const SweepGroup&) = default;
};

/// Returns the pairs of ranks for tests of two ranks: one inside the node with the most ranks, and one between the first two
/// nodes, as far as such pairs exist. `nodes`: the node of each rank, counted from 0.
[[nodiscard]] std::vector<SweepGroup> sweep_pairs(std::span<const int> nodes);

/// The groups for tests of collectives: inside one node, 2, 4, 8, … and all ranks; between nodes, one rank on each of 2, 4,
/// 8, … and all nodes; and all ranks, with the same number on each node. Algorithms can only be distinguished with several
/// rank counts per level. A process without a launcher is a group of one.
[[nodiscard]] std::vector<SweepGroup> sweep_collective_groups(std::span<const int> nodes);

/// Sets of concurrent groups across nodes: 1, 2, 4, … and all groups. Group k has the k-th rank of each node. Empty if there
/// is only one node, or one rank per node.
[[nodiscard]] std::vector<std::vector<std::vector<int>>> sweep_contenders(std::span<const int> nodes);

}  // namespace ddl
