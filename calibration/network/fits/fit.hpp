#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "calibration/network/benchmarks/measured_exchange.hpp"
#include "core/enum_array.hpp"
#include "core/quantity.hpp"
#include "estimator/inputs/collective.hpp"

namespace ddl {

/// The communication pattern of an operation, which determines its terms in α and β. docs/formulas.md, "Fit of α and β", has
/// the formulas.
enum class ExchangeAlgorithm {
  direct,             ///< one message between two ranks
  linear,             ///< the root sends its messages one after the other
  tree,               ///< ⌈log2 P⌉ rounds with the whole vector
  pipelined_tree,     ///< a tree whose rounds overlap, with the vector in segments
  butterfly,          ///< recursive doubling with the whole vector
  ring,               ///< steps in which each rank sends one slice to its neighbor
  chain,              ///< a chain from rank to rank, with the vector in segments
  pairwise,           ///< every rank exchanges one slice with each other rank
  bruck,              ///< ⌈log2 P⌉ rounds with half of the vector
  rabenseifner,       ///< recursive halving, then doubling
  scatter_allgather,  ///< slices are sent from the root, then a ring follows
  in_switch,          ///< reductions or copies in the network switch: time does not depend on P (NVLS, SHARP)
  open_mpi_41,        ///< the messages that Open MPI 4.1 sends for this size and number of ranks
  striped_ring,       ///< a ring on the rails of all ranks of a node
  // A phase inside each node, then the named algorithm between the nodes, then another phase inside each node.
  hierarchical_ring,
  hierarchical_tree,
  hierarchical_pipelined_tree,
  hierarchical_rabenseifner,
  hierarchical_pairwise,
};
template <>
inline constexpr EnumNames<ExchangeAlgorithm> enum_names<ExchangeAlgorithm>{"direct",
                                                                            "linear",
                                                                            "tree",
                                                                            "pipelined tree",
                                                                            "butterfly",
                                                                            "ring",
                                                                            "chain",
                                                                            "pairwise",
                                                                            "bruck",
                                                                            "rabenseifner",
                                                                            "scatter-allgather",
                                                                            "in-switch",
                                                                            "Open MPI 4.1",
                                                                            "striped ring",
                                                                            "hierarchical ring",
                                                                            "hierarchical tree",
                                                                            "hierarchical pipelined tree",
                                                                            "hierarchical rabenseifner",
                                                                            "hierarchical pairwise"};

/// A number with its 95 % interval.
template <typename Unit>
struct Estimated {
  Unit value{};
  Unit low{};
  Unit high{};
};

/// α and β of the link for a range of message sizes with one protocol and algorithm.
struct FitRange {
  Bytes min_message{};  ///< smallest and largest measured message
  Bytes max_message{};
  /// The message size at which the next range starts; infinite in the last range.
  Bytes knee{};
  /// Whether the fitted time is continuous at the upper end of this range. Otherwise the time jumps there.
  bool continuous = false;
  ExchangeAlgorithm algorithm = ExchangeAlgorithm::direct;
  /// α is unset if the rows cannot distinguish it from zero, and if several messages are in flight, because they hide α.
  std::optional<Estimated<Seconds>> alpha{};
  std::optional<Estimated<SecondsPerByte>> beta{};
  double r2 = 0;               ///< share of the variance of the times that the fit explains
  double median_residual = 0;  ///< |measured − fitted| / fitted
  double worst_residual = 0;
  std::size_t points = 0;
  std::size_t outliers = 0;  ///< number of rows with zero weight in the fit
  /// Coefficients of the algorithm's terms, in seconds and seconds per byte, and their covariance row by row.
  std::vector<double> coefficients{};
  std::vector<double> covariance{};
  double noise = 0;    ///< standard deviation of one row, relative to the fitted time
  double freedom = 1;  ///< degrees of freedom of the estimate of `noise`
};

/// The link parameters fitted to the rows of one operation on one level.
struct ExchangeFit {
  Collective operation = Collective::allreduce;
  ExchangePattern pattern = ExchangePattern::collective;
  double window = 1;
  std::optional<NetworkLevel> level{};
  /// Smallest and largest measured numbers of ranks and nodes; unset if no series contains the numbers.
  std::optional<int> min_ranks{};
  std::optional<int> max_ranks{};
  std::optional<int> min_nodes{};
  std::optional<int> max_nodes{};
  std::size_t rank_counts = 0;        ///< number of distinct rank counts
  std::vector<std::size_t> series{};  ///< indices in the input of `fit_exchanges`
  std::vector<FitRange> ranges{};     ///< in the order of sizes; at least one unless there is a refusal
  std::vector<std::string> notes{};   ///< caveats, in whole sentences
  std::string refusal{};              ///< the reason why there is no fit; otherwise empty
  std::string what_to_measure{};      ///< a hint for the refusal
};

/// Fits every operation and level separately. Series of several rank counts are fitted jointly, so that the result can be
/// used for other counts. Series of one rank count that contradict each other are fitted separately. Results are in the
/// order of first appearance. Throws Error for a time or size that is not positive.
[[nodiscard]] std::vector<ExchangeFit> fit_exchanges(std::span<const ExchangeSeries> series);

struct ExchangePrediction {
  Estimated<Seconds> time{};            ///< predicted time, with the interval of a single measurement
  std::vector<std::string> warnings{};  ///< reasons why `time` may be wrong: outside of the measured ranks, nodes or bytes
};
/// Time of one operation of `ranks` ranks on `nodes` nodes. `message`: bytes of the full vector. The fit must not be
/// refused.
[[nodiscard]] ExchangePrediction predict(const ExchangeFit& fit, int ranks, int nodes, Bytes message);

}  // namespace ddl
