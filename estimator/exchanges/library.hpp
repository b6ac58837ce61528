#pragma once

#include <string>

#include "core/quantity.hpp"

namespace ddl {

/// How a communication library does exchanges among GPUs of several nodes on one kind of network, as benchmarks of several
/// clusters have taught. α of a step is that of the machine's level, and bytes go at the rate of its links; these say what
/// the library makes of them. docs/formulas.md, "What a library makes of links", has the formulas.
struct LibraryHabits {
  std::string fabric{};     ///< kind of network: `infiniband`, `ethernet`
  int clusters = 0;         ///< that were measured
  Seconds call{};           ///< what every exchange takes beside its steps
  double tree_level = 1;    ///< α of a level of a tree over that of a step of a ring, between nodes
  double tree_inside = 1;   ///< the same inside a node
  double message = 1;       ///< α of a message of an all-to-all over that of a step of a ring
  double ring_fill = 0;     ///< of a pipeline: share of √(start-ups · bytes) that is waited for until it is full
  double tree_fill = 0;     ///< the same of a tree
  double all_to_all = 1;    ///< share of the links' rate that an all-to-all reaches
  double doubt = 1;         ///< factor within which 95 % of the times of clusters lie that were left out
  friend bool operator==(const LibraryHabits&, const LibraryHabits&) = default;
};

/// A group of ranks, equally many on each of several nodes, and the links that it has while all groups exchange.
struct LibraryGroup {
  double ranks = 2, nodes = 2;
  Seconds between{}, inside{};    ///< α of a step
  SecondsPerByte ring{};          ///< β of a ring through all ranks
  SecondsPerByte out_of_node{};   ///< β of one flow out of each node
  SecondsPerByte in_node{};       ///< β inside a node
  SecondsPerByte exchanged{};     ///< β of a flow of each rank to another node
  SecondsPerByte add{};           ///< time to add a byte into a partial sum
  /// Factors that α and β hold already: start-ups of a call have α's, what fills a pipeline counts as bytes and has β's.
  double alpha_factor = 1, beta_factor = 1;
};

/// `rounds` of P−1 steps through all ranks: 2 for an Allreduce, 1 for an Allgather or a Reduce-scatter. Times are of the full
/// vector.
[[nodiscard]] Seconds library_ring_time(double rounds, Bytes message, const LibraryGroup& group, const LibraryHabits& habits);
/// Allreduce up and down two binary trees of nodes at once, each of which takes one half of the vector [SST09]. Inside a node
/// ranks are a chain.
[[nodiscard]] Seconds library_tree_time(Bytes message, const LibraryGroup& group, const LibraryHabits& habits);
/// A message to each rank of each other node.
[[nodiscard]] Seconds library_all_to_all_time(Bytes message, const LibraryGroup& group, const LibraryHabits& habits);
/// No ring takes less, and no tree less than twice that.
[[nodiscard]] Seconds library_least_time(Bytes message, const LibraryGroup& group);

}  // namespace ddl
