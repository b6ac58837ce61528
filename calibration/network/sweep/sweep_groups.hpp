#pragma once

#include <span>
#include <vector>

namespace ddl {

/// Ranks that exchange with each other, and what is between them.
struct SweepGroup {
  std::vector<int> ranks{};
  int nodes = 1;  ///< that they are on
  friend bool operator==(const SweepGroup&, const SweepGroup&) = default;
};

/// Pairs that messages between two ranks are timed on: one within the node that has the most ranks, one between the first
/// two nodes; as far as there are such. `nodes` has the node of each rank, from 0.
[[nodiscard]] std::vector<SweepGroup> sweep_pairs(std::span<const int> nodes);

/// Groups that collectives are timed on: 2, 4, 8, … ranks and all of one node; one rank each of 2, 4, 8, … and all nodes;
/// all ranks, as many of each node. Several rank counts on a level tell algorithms apart. A rank that nobody launched beside
/// others is a group of one.
[[nodiscard]] std::vector<SweepGroup> sweep_collective_groups(std::span<const int> nodes);

/// Sets of 1, 2, 4, … and all groups that leave their nodes at once: group k has the k-th rank of each node. Nothing where
/// there is one node, or one rank on a node.
[[nodiscard]] std::vector<std::vector<std::vector<int>>> sweep_contenders(std::span<const int> nodes);

}  // namespace ddl
