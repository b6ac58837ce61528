#include "estimator/exchanges/collectives/rounds.hpp"
#include "estimator/exchanges/collectives/times.hpp"

namespace ddl {

// The time is (α + mβ)⌈log2 P⌉ [BH18, §2]. Every round doubles the number of ranks that hold the message.
Seconds tree_broadcast_time(Bytes message, double ranks, const Link& link) {
  if (ranks <= 1) return {};
  return log2_rounds(ranks) * (link.alpha + message * link.beta);
}

// A reduce is the reverse of a broadcast. Every round adds the whole vector. The time is (α + mβ + mc)⌈log2 P⌉ [BH18, §2].
Seconds tree_reduce_time(Bytes message, double ranks, const Link& link) {
  if (ranks <= 1) return {};
  return tree_broadcast_time(message, ranks, link) + log2_rounds(ranks) * (message * link.add);
}

// The vector is reduced up the tree and broadcast down again. The time is 2(α + mβ)⌈log2 P⌉ + mc⌈log2 P⌉ [BH18, §2].
Seconds tree_allreduce_time(Bytes message, double ranks, const Link& link) {
  return tree_reduce_time(message, ranks, link) + tree_broadcast_time(message, ranks, link);
}

// The time is 2α⌈log2 P⌉ + 2mβ + mc [SST09]. Slices are pipelined through two trees. Each rank is a leaf of one tree and has
// two children in the other tree.
Seconds double_tree_allreduce_time(Bytes message, double ranks, const Link& link) {
  if (ranks <= 1) return {};
  return 2 * log2_rounds(ranks) * link.alpha + 2.0 * (message * link.beta) + message * link.add;
}

}  // namespace ddl
