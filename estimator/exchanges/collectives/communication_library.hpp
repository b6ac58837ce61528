#pragma once

#include "core/quantity.hpp"
#include "estimator/inputs/communication_library.hpp"

namespace ddl {

/// A group with the same number of ranks on each of several nodes. Each β includes that a rank has
/// only a share of the links while all groups communicate.
struct LibraryGroup {
  double ranks = 2, nodes = 2;
  Seconds between{}, inside{};   ///< α of one message between nodes, and inside a node
  SecondsPerByte ring{};         ///< β of a ring through all ranks
  SecondsPerByte out_of_node{};  ///< β of one flow out of each node
  SecondsPerByte in_node{};      ///< β inside a node
  SecondsPerByte exchanged{};    ///< β of a flow from each rank to another node
  SecondsPerByte add{};          ///< time to add a byte into a partial sum
  /// Factors that α and β already include. The launch cost of a call is multiplied by the factor of
  /// α. The bytes that fill a pipeline are multiplied by the factor of β.
  double alpha_factor = 1, beta_factor = 1;
};

/// Returns the time of a ring through all ranks with `rounds` times P−1 messages per rank: `rounds` is 2 for an Allreduce,
/// and 1 for an Allgather or a Reduce-scatter. `message`: bytes of the full vector.
[[nodiscard]] Seconds library_ring_time(double rounds, Bytes message, const LibraryGroup& group,
                                        const LibraryConstants& constants);
/// Returns the time of an Allreduce up and down two binary trees of nodes at once. Each tree
/// carries half of the vector [SST09]. The ranks inside a node form a chain.
[[nodiscard]] Seconds library_tree_time(Bytes message, const LibraryGroup& group, const LibraryConstants& constants);
/// Returns the time of an All-to-all between nodes. Each rank sends one message to each rank of the other nodes, together
/// with `grouped` ranks of its node.
[[nodiscard]] Seconds library_all_to_all_time(Bytes message, const LibraryGroup& group, const LibraryConstants& constants);
/// Returns a lower bound of the time of rings and trees. A ring takes at least the bound, and a
/// tree takes at least twice the bound.
[[nodiscard]] Seconds library_least_time(Bytes message, const LibraryGroup& group);

}  // namespace ddl
