#pragma once

#include <deque>
#include <optional>
#include <string_view>
#include <vector>

#include "core/quantity.hpp"
#include "estimator/exchanges/collectives/communication_library.hpp"
#include "estimator/exchanges/collectives/times.hpp"
#include "estimator/exchanges/group.hpp"
#include "estimator/exchanges/known_times.hpp"
#include "estimator/exchanges/topology/contention.hpp"
#include "estimator/inputs/assumptions.hpp"
#include "estimator/inputs/coefficients.hpp"

namespace ddl {

enum class Phase { forward, backward, gradient };
enum class Purpose { layer, halo, gradient, pipeline };

/// The fitted factors for the exchanges of one purpose.
struct PathCoefficients {
  Coefficient alpha, beta;
};
[[nodiscard]] PathCoefficients path_coefficients(Purpose purpose);

/// The tensor of a layer that an exchange sends: either the tensor itself or its gradient.
enum class Subject { input, output, other };

/// One communication that a strategy requires for a layer: its ranks, tensor and size, and when it
/// happens in the step. An Exchange contains no time.
struct Exchange {
  Collective operation = Collective::allreduce;
  double items = 0;  ///< elements of the full vector, per sample of the rank's micro-batch
  Family axes = 0;   ///< axes whose ranks communicate
  Phase phase = Phase::forward;
  Purpose purpose = Purpose::layer;
  int messages = 1;  ///< number of messages, which are sent one after the other
  Subject subject = Subject::other;
  /// Whether the exchange overlaps with the layer's forward, or with the computation of its input's gradient.
  bool next_to_kernels = false;
  double copies = 1;  ///< number of copies of each token in `items`: one copy for each expert of the token
  double frozen = 0;  ///< for gradient exchanges: number of frozen parameters on the same ranks
  int kernels = 0;    ///< additional kernels, which cut out the sent elements and concatenate the received elements
};

/// Name of the algorithm of an exchange whose time was measured.
inline constexpr std::string_view measured_exchange = "measured";
/// Name of the exchange of weights with neighbors on a graph.
inline constexpr std::string_view gossip_exchange = "gossip";

/// Predicts times of exchanges for one plan's layout on one machine. Measured times are used if the operation was measured
/// with equally many ranks per node. Otherwise a time depends on α and β of each level, the route, the number of flows that
/// share a link (φ), and the fastest of the allowed algorithms. Between nodes with a known network type, the communication
/// library determines α and β (`LibraryConstants`).
class ExchangeTimes {
 public:
  /// `known`: times that plans of the same job share, or null.
  ExchangeTimes(const Plan& plan, const Machine& machine, const Coefficients& coefficients, const Assumptions& assumptions,
                KnownTimes* known = nullptr);

  /// Returns the time of the exchange. `message`: bytes of the full vector.
  [[nodiscard]] Seconds time(Collective operation, Bytes message, Family axes, Purpose purpose) const;
  /// A predicted time and the algorithm that has this time. The algorithm is `measured` if the
  /// operation was measured with the same number of ranks per node; else `ring`, `hierarchical`, `pairwise`,
  /// `tree`, `chain`, `allreduce`, `neighbour` or another Allreduce algorithm; empty for a single rank.
  struct Predicted {
    std::string_view algorithm;
    Seconds time{};
    Bottleneck bottleneck{};  ///< the link that limits the flows of the exchange
  };
  [[nodiscard]] Predicted fastest(Collective operation, Bytes message, Family axes, Purpose purpose) const;
  /// The Allreduce algorithm that time() chooses for a gradient of this size, and its time.
  struct Choice {
    AllreduceAlgorithm algorithm = AllreduceAlgorithm::ring;  ///< not meaningful if the time was measured
    Seconds time{};
    Bottleneck bottleneck{};
    bool measured = false;
    [[nodiscard]] std::string_view name() const { return measured ? measured_exchange : to_string(algorithm); }
  };
  [[nodiscard]] Choice allreduce(Bytes message, Family axes, Purpose purpose) const;
  /// Returns the part of time() that grows with α but not with the message's bytes, for the algorithm that time() chooses.
  [[nodiscard]] Seconds startup(Collective operation, Bytes message, Family axes, Purpose purpose) const;
  /// Returns a lower bound of the time of an Allgather or Reduce-scatter of a message. An Allreduce takes at least twice the
  /// bound. The bound grows with the message, although measured times need not grow.
  [[nodiscard]] Seconds least_time(Bytes message, Family axes, Purpose purpose = Purpose::layer) const;
  /// Returns whether measured times exist for any operation along these axes.
  [[nodiscard]] bool is_measured(Family axes, Purpose purpose) const;
  /// Returns whether some operation along these axes may have a measured time. Otherwise, the time of each byte of a message
  /// does not grow with the message.
  [[nodiscard]] bool may_be_measured(Family axes, Purpose purpose) const {
    return may_be_measured(links(axes, purpose), purpose);
  }
  /// Discards cached links of groups. Must be called after each change of the plan's placement.
  void forget_groups() { links_.clear(); }
  [[nodiscard]] const Group& group(Family axes) const { return links(axes, Purpose::layer).group; }
  [[nodiscard]] const Learned& learned() const { return learned_; }
  /// Returns the route of an operation among the ranks of these axes. Inside a node, no collective is staged.
  [[nodiscard]] Route route(Collective operation, Family axes, Purpose purpose) const;
  /// Returns the start-up time of one message between neighbors along these axes, and the time per byte with φ applied.
  [[nodiscard]] SharedLink neighbour_link(Family axes, Purpose purpose) const;

 private:
  /// Returns the route that the software prescribes for messages that leave a node.
  [[nodiscard]] Route prescribed_route(Purpose purpose) const;
  /// The links of one group with contention applied, for the direct route and for the route through the host.
  struct GroupLinks {
    Family axes = 0;
    Purpose purpose = Purpose::layer;
    bool only_startups = false;   ///< bytes take no time, only start-ups do
    KnownTimes::Place place = 0;  ///< 0: times are not cached
    Group group;
    SharedLink flat, inside, slices, leaders;         // direct; a leader uses all links of its node, as NCCL does
    SharedLink one_leader;                            // direct; the leader sends over one link
    SharedLink host_flat, host_slices, host_leaders;  // staged through the host
    double leader_count = 1;                          // number of leaders, if nodes have several
    SharedLink several_leaders, host_several_leaders;
  };
  [[nodiscard]] GroupLinks links_for(Family axes, Purpose purpose) const;
  /// Returns all properties, except the job, that determine the times of collectives in a group.
  [[nodiscard]] std::vector<double> properties_of(const Group& group, Purpose purpose) const;
  /// Returns a time from the cache, or the result of `compute()`.
  template <class Compute>
  [[nodiscard]] Seconds shared(const KnownTimes::Key& key, const Compute& compute) const {
    return key.place == 0 ? compute() : known_->time(key, compute);
  }
  /// startup() and least_time() of a group, without the cache.
  [[nodiscard]] Seconds startup_of(Collective operation, Bytes message, const GroupLinks& own) const;
  [[nodiscard]] Seconds least_of(Bytes message, const GroupLinks& at) const;
  [[nodiscard]] const GroupLinks& links(Family axes, Purpose purpose, bool only_startups = false) const;
  /// Returns the number of ranks of one group that send to another node at once, if every rank
  /// sends to its neighbor in one direction.
  [[nodiscard]] double edge_ranks(const Group& group, Purpose purpose) const;
  /// Returns the links that the flows of an Allreduce with this algorithm share.
  [[nodiscard]] static const SharedLink& links_of(AllreduceAlgorithm algorithm, const GroupLinks& way, bool staged);
  [[nodiscard]] Seconds allreduce_time(AllreduceAlgorithm algorithm, Bytes message, const GroupLinks& way,
                                       bool staged) const;
  /// Returns the links that the flows of one group share, slowed down by other flows and by the
  /// fitted factors of the purpose.
  [[nodiscard]] SharedLink share(const Group& group, const Flows& flows, bool staged, Purpose purpose) const;
  /// Returns the link for one round of a recursive algorithm. If the network distinguishes near and
  /// far ranks, times of rounds are summed one by one.
  [[nodiscard]] SharedLink round_link(const GroupLinks& way, Pattern pattern, double step, bool staged) const;
  struct Rounds {
    std::vector<HalvingRound> rounds;
    Pattern pattern = Pattern::exchange;
    /// Ranks of a node, if a Reduce-scatter and an Allgather inside nodes surround the rounds. The ranks at one position of
    /// their nodes then exchange one slice, and the distances of rounds are multiples of this number.
    double in_node = 1;
  };
  [[nodiscard]] bool rounds_differ(const GroupLinks& way) const;
  /// Returns whether an Allreduce is predicted round by round.
  [[nodiscard]] bool is_by_rounds(AllreduceAlgorithm algorithm, const GroupLinks& way) const;
  /// Returns the rounds of an algorithm one by one; empty if all rounds use the same links.
  [[nodiscard]] Rounds rounds_of(AllreduceAlgorithm algorithm, const GroupLinks& way) const;
  /// The time of a ring collective. With `two_levels`, one ring runs inside each node and one ring
  /// between nodes; else one ring joins all ranks.
  using RingTime = Seconds (*)(Bytes message, double ranks, const Link& link);
  [[nodiscard]] static Seconds all_to_all_time(Bytes message, const GroupLinks& way, bool staged);
  /// Returns the time of a broadcast or a reduce along a tree, or along a pipelined chain.
  [[nodiscard]] Seconds rooted_time(Collective operation, bool by_tree, Bytes message, const GroupLinks& way,
                                    bool staged) const;
  /// Returns the fastest way of a broadcast or a reduce: a tree, a chain, or an Allreduce, which contains both.
  [[nodiscard]] Predicted rooted(Collective operation, Bytes message, const GroupLinks& way) const;
  [[nodiscard]] Seconds gather_time(RingTime ring, bool two_levels, Bytes message, const GroupLinks& way, bool staged) const;
  /// Returns how the communication library of the machine's GPUs uses the links between nodes. Null
  /// if the network type is unknown, for exchanges through the host, for ideal projections, and for
  /// groups with different numbers of ranks on their nodes.
  [[nodiscard]] const LibraryConstants* library(const GroupLinks& way, bool staged) const;
  [[nodiscard]] LibraryGroup library_group(const GroupLinks& way) const;
  /// The time of an operation by the library's formulas, without fitted factors; empty if it has none.
  [[nodiscard]] std::optional<Seconds> library_time(Collective operation, Bytes message, const LibraryGroup& group,
                                                    const GroupLinks& way) const;
  /// A measured time, continued by the library's formulas beyond the largest measured message, and beyond the largest
  /// measured count if measurements of fewer nodes do not predict that count.
  [[nodiscard]] std::optional<Seconds> continued_time(Collective operation, Bytes message, const GroupLinks& way) const;
  /// Limits a time that was not measured among these ranks by measurements of other collectives. An Allreduce takes at most
  /// as long as a Reduce-scatter plus an Allgather [Thak05]. Each of these two moves at most as many bytes as an Allreduce.
  /// `start`: start-ups of the time, unless it was measured.
  [[nodiscard]] Seconds agreeing(Seconds time, std::optional<Seconds> start, Collective operation, Bytes message,
                                 const GroupLinks& way) const;
  [[nodiscard]] Seconds by_rounds(AllreduceAlgorithm algorithm, Bytes message, const GroupLinks& way, bool staged) const;
  [[nodiscard]] Bottleneck busiest(AllreduceAlgorithm algorithm, const GroupLinks& way, bool staged) const;
  /// Returns whether an exchange is staged through the host.
  [[nodiscard]] bool is_staged(const GroupLinks& way, Purpose purpose) const;
  /// Returns whether measured times may be used for a group. This requires that no algorithm is
  /// prescribed, and that no other group shares the nodes of this group.
  [[nodiscard]] bool may_be_measured(const GroupLinks& way, Purpose purpose) const;
  /// A measured time, divided into the start-up part and the byte part. Fitted factors scale each part.
  struct Parts {
    Seconds startups{}, bytes{};
  };
  [[nodiscard]] std::optional<Parts> measured_time(Collective operation, Bytes message, const GroupLinks& way,
                                                   Purpose purpose) const;
  [[nodiscard]] Seconds least_by_links(Bytes message, const GroupLinks& way, Purpose purpose) const;
  [[nodiscard]] double congestion_factor(const Group& group, std::size_t from, std::size_t to) const;
  /// Returns the algorithm that the user or the measured software prescribes for the exchanges of a purpose.
  [[nodiscard]] std::optional<AllreduceAlgorithm> prescribed(Purpose purpose) const;

  const Plan& plan_;
  const Machine& machine_;
  const Coefficients& coefficients_;
  const Software& software_;
  const Assumptions& assumptions_;
  KnownTimes* known_ = nullptr;
  Learned learned_;
  mutable std::deque<GroupLinks> links_;  ///< computed on first use; references to elements stay valid
};

}  // namespace ddl
