#pragma once

#include "core/quantity.hpp"
#include "estimator/inputs/collective_library.hpp"

namespace ddl {

/// A group with the same number of ranks on each of several nodes, and the share of the links that a rank gets while all
/// groups communicate.
struct LibraryGroup {
  double ranks = 2, nodes = 2;
  Seconds between{}, inside{};   ///< α of a step
  SecondsPerByte ring{};         ///< β of a ring through all ranks
  SecondsPerByte out_of_node{};  ///< β of one flow out of each node
  SecondsPerByte in_node{};      ///< β inside a node
  SecondsPerByte exchanged{};    ///< β of a flow from each rank to another node
  SecondsPerByte add{};          ///< time to add a byte into a partial sum
  /// Factors already included in α and β: the launch cost of a call is multiplied by the factor of α, and the bytes that
  /// fill a pipeline are multiplied by the factor of β.
  double alpha_factor = 1, beta_factor = 1;
};

/// A ring through all ranks with `rounds` times P−1 steps: `rounds` is 2 for an Allreduce, and 1 for an Allgather or a
/// Reduce-scatter. Times are for the full vector.
[[nodiscard]] Seconds library_ring_time(double rounds, Bytes message, const LibraryGroup& group,
                                        const LibraryHabits& habits);
/// An Allreduce up and down two binary trees of nodes at once. Each tree carries half of the vector [SST09]. The ranks
/// inside a node form a chain.
[[nodiscard]] Seconds library_tree_time(Bytes message, const LibraryGroup& group, const LibraryHabits& habits);
/// All-to-all between nodes: one message to each rank of each other node.
[[nodiscard]] Seconds library_all_to_all_time(Bytes message, const LibraryGroup& group, const LibraryHabits& habits);
/// A lower bound for rings and trees. A ring takes at least this long, and a tree takes at least twice this long.
[[nodiscard]] Seconds library_least_time(Bytes message, const LibraryGroup& group);

}  // namespace ddl
