#pragma once

#include <deque>
#include <optional>
#include <string_view>
#include <vector>

#include "core/quantity.hpp"
#include "estimator/exchanges/collectives/library.hpp"
#include "estimator/exchanges/collectives/times.hpp"
#include "estimator/exchanges/group.hpp"
#include "estimator/exchanges/topology/contention.hpp"
#include "estimator/inputs/assumptions.hpp"
#include "estimator/inputs/coefficients.hpp"

namespace ddl {

enum class Phase { forward, backward, gradient };
enum class Purpose { layer, halo, gradient, pipeline };

/// The factors that measured runs put on the exchanges of a purpose.
struct PathCoefficients {
  Coefficient alpha, beta;
};
[[nodiscard]] PathCoefficients path_coefficients(Purpose purpose);

/// Which tensor of a layer an exchange is about, or of whose gradient.
enum class Subject { input, output, other };

/// One communication a strategy asks of a layer, described and not priced: who, what, how much, when.
struct Exchange {
  Collective operation = Collective::allreduce;
  double items = 0;  ///< of the full vector, per sample of the rank's micro-batch
  Family axes = 0;   ///< the axes whose ranks take part
  Phase phase = Phase::forward;
  Purpose purpose = Purpose::layer;
  int messages = 1;  ///< how many of these, one after the other
  Subject subject = Subject::other;
  /// Runs while the device computes: the layer's forward, or the gradient of its input.
  bool beside_kernels = false;
  double copies = 1;  ///< of each token among its items, one for each of its experts
  double frozen = 0;  ///< of gradients: parameters on the same ranks that have none
  int kernels = 0;    ///< that the host starts beside it, to cut out what is sent and to join what comes
};

/// How an exchange is done whose time was measured.
inline constexpr std::string_view measured_exchange = "measured";

/// Times of exchanges for one plan's layout on one machine: as measured, where the operation was measured among such ranks;
/// else by α/β per level, the route, the flows that share a link (φ) and the cheapest algorithm of those allowed. Between
/// nodes whose kind of network is known these are what a library has (`LibraryHabits`).
class ExchangePrices {
 public:
  ExchangePrices(const Plan& plan, const Machine& machine, const Coefficients& coefficients, const Assumptions& assumptions);

  /// `message`: bytes of the full vector.
  [[nodiscard]] Seconds price(Collective operation, Bytes message, Family axes, Purpose purpose) const {
    return cheapest(operation, message, axes, purpose).time;
  }
  /// A price and how the exchange is done for it: `measured` where its operation was measured among such ranks, else `ring`,
  /// `hierarchical`, `pairwise`, `tree`, `neighbour` or another Allreduce algorithm; nothing among a single rank.
  struct Priced {
    std::string_view algorithm;
    Seconds time{};
    Bottleneck bottleneck{};  ///< where its flows are held back
  };
  [[nodiscard]] Priced cheapest(Collective operation, Bytes message, Family axes, Purpose purpose) const;
  /// The Allreduce that price() would take for a gradient of this size, and its time.
  struct Choice {
    AllreduceAlgorithm algorithm = AllreduceAlgorithm::ring;  ///< of nothing where it was measured
    Seconds time{};
    Bottleneck bottleneck{};
    bool measured = false;
    [[nodiscard]] std::string_view name() const { return measured ? measured_exchange : to_string(algorithm); }
  };
  [[nodiscard]] Choice allreduce(Bytes message, Family axes, Purpose purpose) const;
  /// The part of price() that start-ups take, done in the same way: all of it that grows with α, and nothing that grows with
  /// bytes.
  [[nodiscard]] Seconds startup(Collective operation, Bytes message, Family axes, Purpose purpose) const;
  /// No Allgather or Reduce-Scatter of a message takes less, and no Allreduce less than twice that. It grows with the
  /// message, as measured times need not.
  [[nodiscard]] Seconds least_time(Bytes message, Family axes, Purpose purpose = Purpose::layer) const;
  /// Whether any operation along these axes is priced by measurements of it.
  [[nodiscard]] bool is_measured(Family axes, Purpose purpose) const;
  /// To be called when the plan has placed its ranks anew.
  void forget_groups() { links_.clear(); }
  [[nodiscard]] const Group& group(Family axes) const { return links(axes, Purpose::layer).group; }
  [[nodiscard]] const Learned& learned() const { return learned_; }
  [[nodiscard]] Route route(Purpose purpose) const;
  /// Start-up of one message between neighbours along these axes, and time per byte with φ applied.
  [[nodiscard]] SharedLink neighbour_link(Family axes, Purpose purpose) const;

 private:
  /// Links of one group, contention applied, for both routes.
  struct GroupLinks {
    Family axes = 0;
    Purpose purpose = Purpose::layer;
    bool only_startups = false;  ///< bytes take no time
    Group group;
    SharedLink flat, inside, slices, leaders;         // direct
    SharedLink host_flat, host_slices, host_leaders;  // through the host
    double leader_count = 1;                          // of a node that has several
    SharedLink several_leaders, host_several_leaders;
  };
  [[nodiscard]] GroupLinks links_for(Family axes, Purpose purpose) const;
  [[nodiscard]] const GroupLinks& links(Family axes, Purpose purpose, bool only_startups = false) const;
  /// Ranks of one group that send to another node at once, when every rank sends to its neighbour in one direction.
  [[nodiscard]] double edge_ranks(const Group& group, Purpose purpose) const;
  /// The links that the flows of an Allreduce share.
  [[nodiscard]] static const SharedLink& links_of(AllreduceAlgorithm algorithm, const GroupLinks& way, bool staged);
  [[nodiscard]] Seconds allreduce_time(AllreduceAlgorithm algorithm, Bytes message, const GroupLinks& way,
                                       bool staged) const;
  /// Links of one group that its flows share, slower by what others do to them and by what runs have taught of the purpose.
  [[nodiscard]] SharedLink share(const Group& group, const Flows& flows, bool staged, Purpose purpose) const;
  /// One round of a recursive algorithm after the other, where the network makes near and far ranks different.
  [[nodiscard]] SharedLink round_link(const GroupLinks& way, Pattern pattern, double step, bool staged) const;
  struct Rounds {
    std::vector<HalvingRound> rounds;
    Pattern pattern = Pattern::exchange;
  };
  [[nodiscard]] bool rounds_differ(const GroupLinks& way) const;
  /// None where all rounds share the same links.
  [[nodiscard]] Rounds rounds_of(AllreduceAlgorithm algorithm, const GroupLinks& way) const;
  /// `two_levels`: ring by ring inside nodes and between them, else one ring of all ranks.
  using RingTime = Seconds (*)(Bytes message, double ranks, const Link& link);
  [[nodiscard]] static Seconds all_to_all_time(Bytes message, const GroupLinks& way, bool staged);
  [[nodiscard]] Seconds gather_time(RingTime ring, bool two_levels, Bytes message, const GroupLinks& way, bool staged) const;
  /// What the library of the machine's GPUs makes of the links between nodes; nothing where nobody knows, or no library is
  /// meant: through the host, in an ideal projection, or where nodes hold unlike numbers of a group's ranks.
  [[nodiscard]] const LibraryHabits* library(const GroupLinks& way, bool staged) const;
  [[nodiscard]] LibraryGroup library_group(const GroupLinks& way) const;
  [[nodiscard]] Seconds by_rounds(AllreduceAlgorithm algorithm, Bytes message, const GroupLinks& way, bool staged) const;
  [[nodiscard]] Bottleneck busiest(AllreduceAlgorithm algorithm, const GroupLinks& way, bool staged) const;
  /// Whether an exchange goes through the host.
  [[nodiscard]] bool is_staged(const GroupLinks& way, Purpose purpose) const;
  /// Whether measured exchanges may price those of a group: no algorithm is prescribed, and its nodes run no other group.
  [[nodiscard]] bool may_be_measured(const GroupLinks& way, Purpose purpose) const;
  /// A measured time in the two parts that learned factors apply to.
  struct Parts {
    Seconds startups{}, bytes{};
  };
  [[nodiscard]] std::optional<Parts> measured_time(Collective operation, Bytes message, const GroupLinks& way,
                                                   Purpose purpose) const;
  [[nodiscard]] Seconds least_by_links(Bytes message, const GroupLinks& way, Purpose purpose) const;
  [[nodiscard]] double congestion_factor(const Group& group, std::size_t from, std::size_t to) const;
  /// The algorithm that the user or the measured software prescribes for the exchanges of a purpose.
  [[nodiscard]] std::optional<AllreduceAlgorithm> prescribed(Purpose purpose) const;

  const Plan& plan_;
  const Machine& machine_;
  const Coefficients& coefficients_;
  const Software& software_;
  const Assumptions& assumptions_;
  Learned learned_;
  mutable std::deque<GroupLinks>
      links_;  ///< a handful of groups, each worked out when first asked for; references stay valid
};

}  // namespace ddl
