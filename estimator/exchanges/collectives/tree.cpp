#include "estimator/exchanges/collectives/rounds.hpp"
#include "estimator/exchanges/collectives/times.hpp"

namespace ddl {

// (α + mβ)⌈log2 P⌉. [BH18] §2: every round doubles the number of ranks that hold the message.
Seconds tree_broadcast_time(Bytes message, double ranks, const Link& link) {
  if (ranks <= 1) return {};
  return log2_rounds(ranks) * (link.alpha + message * link.beta);
}

// (α + mβ + mc)⌈log2 P⌉. [BH18] §2: the reverse of a broadcast. Every round adds the whole vector.
Seconds tree_reduce_time(Bytes message, double ranks, const Link& link) {
  if (ranks <= 1) return {};
  return tree_broadcast_time(message, ranks, link) + log2_rounds(ranks) * (message * link.add);
}

// 2(α + mβ)⌈log2 P⌉ + mc⌈log2 P⌉. [BH18] §2: up the tree and down again.
Seconds tree_allreduce_time(Bytes message, double ranks, const Link& link) {
  return tree_reduce_time(message, ranks, link) + tree_broadcast_time(message, ranks, link);
}

// 2α⌈log2 P⌉ + 2mβ + mc. [SST09]: slices are pipelined through two trees. Each rank is a leaf of one tree and has two
// children in the other tree.
Seconds double_tree_allreduce_time(Bytes message, double ranks, const Link& link) {
  if (ranks <= 1) return {};
  return 2 * log2_rounds(ranks) * link.alpha + 2.0 * (message * link.beta) + message * link.add;
}

}  // namespace ddl
