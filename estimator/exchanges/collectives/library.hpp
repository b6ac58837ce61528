#pragma once

#include "core/quantity.hpp"
#include "estimator/inputs/collective_library.hpp"

namespace ddl {

/// A group of ranks, equally many on each of several nodes, and the links that it has while all groups exchange.
struct LibraryGroup {
  double ranks = 2, nodes = 2;
  Seconds between{}, inside{};   ///< α of a step
  SecondsPerByte ring{};         ///< β of a ring through all ranks
  SecondsPerByte out_of_node{};  ///< β of one flow out of each node
  SecondsPerByte in_node{};      ///< β inside a node
  SecondsPerByte exchanged{};    ///< β of a flow of each rank to another node
  SecondsPerByte add{};          ///< time to add a byte into a partial sum
  /// Factors that α and β hold already: start-ups of a call have α's, what fills a pipeline counts as bytes and has β's.
  double alpha_factor = 1, beta_factor = 1;
};

/// `rounds` of P−1 steps through all ranks: 2 for an Allreduce, 1 for an Allgather or a Reduce-scatter. Times are of the
/// full vector.
[[nodiscard]] Seconds library_ring_time(double rounds, Bytes message, const LibraryGroup& group,
                                        const LibraryHabits& habits);
/// Allreduce up and down two binary trees of nodes at once, each of which takes one half of the vector [SST09]. Inside a
/// node ranks are a chain.
[[nodiscard]] Seconds library_tree_time(Bytes message, const LibraryGroup& group, const LibraryHabits& habits);
/// A message to each rank of each other node.
[[nodiscard]] Seconds library_all_to_all_time(Bytes message, const LibraryGroup& group, const LibraryHabits& habits);
/// No ring takes less, and no tree less than twice that.
[[nodiscard]] Seconds library_least_time(Bytes message, const LibraryGroup& group);

}  // namespace ddl
