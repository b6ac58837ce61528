#pragma once

#include <optional>
#include <vector>

#include "core/quantity.hpp"
#include "estimator/inputs/collective.hpp"

namespace ddl {

// The functions return times of collectives over `ranks` ranks on one link level. `message` is the
// full vector. Every time is zero for one rank. Sources: [BH18] Ben-Nun and Hoefler, "Demystifying
// Parallel and Distributed Deep Learning", section 2; [ParaDL].

/// Returns the time of a one-to-all or all-to-one exchange, one message after the other: (P−1)(α + mβ + mc).
[[nodiscard]] Seconds linear_reduce_time(Bytes message, double ranks, const Link& link);
/// Returns the time of a linear reduce and a linear broadcast: 2(P−1)(α + mβ) + (P−1)mc.
[[nodiscard]] Seconds linear_allreduce_time(Bytes message, double ranks, const Link& link);
/// Returns the time of an Allreduce up and down one tree: 2(α + mβ)⌈log2 P⌉ + mc⌈log2 P⌉.
[[nodiscard]] Seconds tree_allreduce_time(Bytes message, double ranks, const Link& link);
/// Returns the time of an Allreduce on two binary trees at once: 2α⌈log2 P⌉ + 2mβ + mc. Each tree
/// carries half of the vector in slices [SST09].
[[nodiscard]] Seconds double_tree_allreduce_time(Bytes message, double ranks, const Link& link);
/// Returns the time of an Allreduce whose vectors the switches add. Each of `nodes` nodes of g ranks sends its reduced
/// vector to the switches and receives the sum: 2(g−1)(αi + m/g·βi) + αe + m/g·βe, plus the reduction inside.
[[nodiscard]] Seconds in_network_allreduce_time(Bytes message, double ranks_per_node, double nodes, const Link& inside,
                                                const Link& between);
/// Returns the time of an Allreduce by recursive doubling: (α + mβ + mc)⌈log2 P⌉.
[[nodiscard]] Seconds butterfly_allreduce_time(Bytes message, double ranks, const Link& link);
/// Returns the time of a ring Allreduce: 2(P−1)(α + (m/P)β) + mc(P−1)/P.
[[nodiscard]] Seconds ring_allreduce_time(Bytes message, double ranks, const Link& link);
/// Returns the time of a Reduce-scatter by halving and an Allgather by doubling: 2α⌈log2 P⌉ + 2mβ(P−1)/P + mc(P−1)/P.
[[nodiscard]] Seconds rabenseifner_allreduce_time(Bytes message, double ranks, const Link& link);
/// A round of recursive halving, or the mirrored round of recursive doubling: the distance to the
/// partner, and the share of the vector that a rank sends.
struct HalvingRound {
  double step = 1, part = 0;
};
/// Returns the rounds of Rabenseifner's Reduce-scatter. A rank sends half of the vector to its
/// neighbor, a quarter to the rank two places away, and so on.
[[nodiscard]] std::vector<HalvingRound> halving_rounds(double ranks);
/// Returns the same rounds with the largest distance first, so that half of the vector travels farthest.
[[nodiscard]] std::vector<HalvingRound> far_halving_rounds(double ranks);
/// Returns the rounds of a Reduce-scatter in which every rank sends to the rank ⌈p/2⌉ places ahead,
/// then ⌈p/4⌉ places ahead, and so on down to 1 place, for any p [Träff, 2024, circulant graphs].
[[nodiscard]] std::vector<HalvingRound> shifted_halving_rounds(double ranks);
/// Returns the time of shifted halving-doubling if messages over all distances use the same link.
/// The time equals that of Rabenseifner's algorithm, but the algorithm works for any P.
[[nodiscard]] Seconds shifted_halving_doubling_allreduce_time(Bytes message, double ranks, const Link& link);
/// Returns α⌈log2 P⌉ + 2mβ(P−1)/P, a lower bound of the time of any Allreduce.
[[nodiscard]] Seconds allreduce_lower_bound(Bytes message, double ranks, const Link& link);
/// Returns the time of a ring Allgather: (P−1)(α + (m/P)β).
[[nodiscard]] Seconds ring_allgather_time(Bytes message, double ranks, const Link& link);
/// Returns the time of a ring Reduce-scatter: (P−1)(α + (m/P)β) + mc(P−1)/P.
[[nodiscard]] Seconds ring_reduce_scatter_time(Bytes message, double ranks, const Link& link);
/// Returns the time of a pairwise exchange: (P−1)(α + (m/P)β).
[[nodiscard]] Seconds pairwise_all_to_all_time(Bytes message, double ranks, const Link& link);
/// Returns the time of a pairwise exchange among P ranks in n nodes of g ranks. Traffic inside a node overlaps with traffic
/// between nodes: (P−1)αe + (m/P)·max((P−g)βe, (g−1)βi).
[[nodiscard]] Seconds hierarchical_all_to_all_time(Bytes message, double ranks_per_node, double nodes, const Link& inside,
                                                   const Link& between);
/// Returns the share of a token's copies that is sent if each of n units receives at most one copy.
/// Without this limit, the token's k experts require k copies. Experts are assumed equally popular,
/// so a token reaches n(1−(1−1/n)^k) units on average.
[[nodiscard]] double share_of_copies(double units, double copies);
/// Returns on how many of n units the experts are that a token may use on average, if the token first chooses g of G groups
/// of experts. Units hold consecutive experts [DSV3, section 2.1.2, node-limited routing].
[[nodiscard]] double units_of_groups(double units, double groups, double active);
/// Returns the share of a token's copies that is sent if each of n units receives at most one copy, and a token has k
/// consecutive experts of E. The experts of token t begin at t·k modulo E. Units hold E/n consecutive experts, so that k
/// experts are on 1 + (k − gcd(k, E/n))·n/E units on average.
[[nodiscard]] double share_of_consecutive(double units, double experts, double copies);
/// Returns the time of a broadcast along a tree: (α + mβ)⌈log2 P⌉.
[[nodiscard]] Seconds tree_broadcast_time(Bytes message, double ranks, const Link& link);
/// Returns the time of a reduce along a tree: (α + mβ + mc)⌈log2 P⌉.
[[nodiscard]] Seconds tree_reduce_time(Bytes message, double ranks, const Link& link);
/// Returns the time of a broadcast along a chain, pipelined in pieces: (P−1)α + mβ [NCCL, Broadcast as a ring; Thak05].
[[nodiscard]] Seconds chain_broadcast_time(Bytes message, double ranks, const Link& link);
/// Returns the time of a reduce along a chain, pipelined in pieces: (P−1)α + mβ + mc.
[[nodiscard]] Seconds chain_reduce_time(Bytes message, double ranks, const Link& link);
/// Returns the time of a reduce along a chain to one rank and a broadcast along the chain back,
/// both pipelined in pieces: 2(P−1)α + 2mβ + mc [NCCL, Reduce and Broadcast as rings].
[[nodiscard]] Seconds reduce_broadcast_time(Bytes message, double ranks, const Link& link);
/// Returns the time of push and pull with s servers, which share the vector and serve P workers: 2mβ·max(1, P/s) + 2α.
[[nodiscard]] Seconds parameter_server_time(Bytes message, double ranks, double servers, const Link& link);
/// Returns the time of a sparse Allreduce of N2 bytes of indices and values per rank: 2(P−1)α + 2(P−1)N2β. If `dense` is
/// set, full blocks are sent in dense form: 2(P−1)α + 2(P−1)·min(N2, N1/P)·β. The compression time is added in either case.
[[nodiscard]] Seconds sparse_allreduce_time(Bytes sparse, std::optional<Bytes> dense, double ranks, Seconds compression,
                                            const Link& link);
/// Returns the time of a Reduce-scatter inside each node of g ranks, ring Allreduces of the g slices between n nodes, and an
/// Allgather inside each node: 2(g−1)(αi + m/g·βi) + 2(n−1)(αe + m/(gn)·φβe). φ flows share the NIC.
[[nodiscard]] Seconds hierarchical_allreduce_time(Bytes message, double ranks_per_node, double nodes, const Link& inside,
                                                  const Link& between, double phi);
/// Returns the time of ParaDL's variant: a reduce inside each node to one leader, a ring Allreduce
/// of the leaders, and a broadcast inside each node. Reduce and broadcast are modeled as rings.
[[nodiscard]] Seconds leader_allreduce_time(Bytes message, double ranks_per_node, double nodes, const Link& inside,
                                            const Link& between, double phi);
/// Returns the time of an Allreduce with k leaders per node, which each exchange 1/k of the vector: 2(g−1)(αi + m/g·βi) +
/// 2(n−1)(αe + m/(kn)·βe).
[[nodiscard]] Seconds multi_leader_allreduce_time(Bytes message, double ranks_per_node, double nodes, double leaders,
                                                  const Link& inside, const Link& between);
}  // namespace ddl
