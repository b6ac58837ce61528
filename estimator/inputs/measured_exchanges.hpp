#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "core/enum_array.hpp"
#include "core/quantity.hpp"
#include "estimator/inputs/collective.hpp"

namespace ddl {

/// The times of one operation among all ranks of some nodes, for each message size of a benchmark.
struct MeasuredCurve {
  struct Point {
    Bytes message{};          ///< bytes of the full vector, above zero
    Seconds time{};           ///< time of one operation, above zero
    std::string algorithm{};  ///< algorithm and protocol that the library used; empty if unknown
    friend bool operator==(const Point&, const Point&) = default;
  };

  Collective operation = Collective::allreduce;
  int ranks = 2;
  int nodes = 1;
  /// The number of messages in flight at once in each direction in a bandwidth test of two ranks; otherwise 1.
  double window = 1;
  bool both_ways = false;       ///< for two ranks: whether both send at the same time
  std::vector<Point> points{};  ///< at least one; sizes ascend
  /// Geometric standard deviation of repeated measurements of a point; 1 if points were not repeated.
  double spread = 1;
  std::string tool{};    ///< the tool that measured the curve, with the tool's version
  std::string date{};    ///< date of access, such as 2026-11-23
  std::string source{};  ///< files of the measurement

  /// Returns the time of a message. Between two measured sizes, the time is linear in the size, as α + βm is. Below the
  /// smallest size, the time is constant. Above the largest size, the time has the slope of the last two sizes.
  [[nodiscard]] Seconds at(Bytes message) const;
  /// By how much the time between two sizes may be shorter and longer than at(), as logarithms. Each of the two sizes has a
  /// distance from the line through its neighbors. The doubt is the larger of these distances halfway between the sizes, but
  /// keeps the time at or above the shorter measured time. The doubt is 0 at a measured size, below the smallest size, and
  /// above the largest size. docs/formulas.md, "Measured exchanges", has the formula.
  struct SizeDoubt {
    double shorter = 0, longer = 0;
  };
  [[nodiscard]] SizeDoubt size_doubt(Bytes message) const;
  /// Returns the algorithm that the library ran for a message of this size. This is the algorithm
  /// of the two neighboring sizes, or `Tree LL128 or Ring Simple` if their algorithms differ. Empty
  /// if the algorithm of a neighboring size is unknown.
  [[nodiscard]] std::string algorithm_at(Bytes message) const;
  /// Returns the time per byte above the largest size.
  [[nodiscard]] SecondsPerByte last_slope() const;
  /// Returns whether start-ups take less than a tenth of the largest message's time. If so, the
  /// curve can be extrapolated to larger messages.
  [[nodiscard]] bool ends_by_bytes() const;
  friend bool operator==(const MeasuredCurve&, const MeasuredCurve&) = default;
};

/// Predicts exchanges from measurements of the same operation. docs/formulas.md, "Measured exchanges", has the formulas.
///
/// A curve predicts other counts of nodes with the same ranks per node in two ways. As a ring, a round takes as long as a
/// measured round of the same size. As a tree, all time except the time of the bytes grows with the logarithm of the number
/// of nodes. Libraries use the faster of the two algorithms. Between two measured counts, the predictions of both curves are
/// averaged, weighted by the logarithm of the number of nodes. If both curves predict equal times for one algorithm, the
/// library probably ran that algorithm. So each algorithm is weighted by the inverse square of the difference of its two
/// predictions. Inside a node, ranks take the place of nodes.
class MeasuredExchanges {
 public:
  MeasuredExchanges() = default;
  /// There must be at most one curve for each combination of operation, ranks, nodes and window. Curves keep their order.
  explicit MeasuredExchanges(std::vector<MeasuredCurve> curves);

  [[nodiscard]] const std::vector<MeasuredCurve>& curves() const { return curves_; }
  [[nodiscard]] bool empty() const { return curves_.empty(); }

  /// Time of an exchange of `ranks` ranks, with the same number on each of `nodes` nodes, while no other exchange runs.
  /// `message`: bytes of the full vector. Empty for one rank, or if no curve has this number of ranks per node. If only one
  /// of Reduce-scatter and Allgather was measured, the other one takes as long, because both move the same bytes in the same
  /// steps. If no Allreduce was measured, it takes as long as these two together, as in a ring.
  [[nodiscard]] std::optional<Seconds> time(Collective operation, Bytes message, double ranks, double nodes) const;

  /// The largest message up to which time() is measured. For larger messages, the time grows with the slope of the links.
  /// Empty if time() is empty, or if bandwidth limits the time of the largest measured message, because the measured slope
  /// is then used.
  [[nodiscard]] std::optional<Bytes> last_size(Collective operation, double ranks, double nodes) const;

  /// A count of ranks and nodes that was measured.
  struct MeasuredCount {
    double ranks = 2, nodes = 1;
  };
  /// Returns the largest measured count if an exchange has more nodes (or ranks, inside a node) and cannot be extrapolated.
  /// It cannot if a curve through the smaller counts does not predict the time of the largest count. Otherwise unset.
  [[nodiscard]] std::optional<MeasuredCount> last_count(Collective operation, Bytes message, double ranks,
                                                        double nodes) const;

  /// Whether last_size() or last_count() may be set for this exchange.
  [[nodiscard]] bool may_be_continued(Collective operation, double ranks, double nodes) const;

  /// Returns whether time() is based on measurements of two nodes although the exchange has more nodes. In an Allreduce
  /// between two nodes, each node may send only half as many bytes as in an Allreduce between more nodes. More than two
  /// nodes may therefore not reach the rate of two nodes.
  [[nodiscard]] bool rests_on_two_nodes(Collective operation, double ranks, double nodes) const;

  /// Returns the geometric standard deviation of repeated measurements of an exchange with these arguments, as the weighted
  /// mean over the curves that time() uses. 1 without repetitions, and if time() is empty.
  [[nodiscard]] double spread(Collective operation, double ranks, double nodes) const;
  /// Returns whether any of the curves contains repeated measurements.
  [[nodiscard]] bool has_spread() const;

  /// Returns a lower bound of the time per byte: time(…) is at least `message` times the bound. Empty if time() is empty.
  [[nodiscard]] std::optional<SecondsPerByte> least_per_byte(Collective operation, double ranks, double nodes) const;
  /// Returns the minimum of least_per_byte() over all counts, measured or not. For an Allreduce,
  /// half of least_per_byte() enters the minimum. Infinite without measurements.
  [[nodiscard]] SecondsPerByte least_per_byte() const { return least_; }

  /// A time with its 95 % interval, and reasons why the error may be larger. The interval includes
  /// the times predicted for a ring and for a tree.
  struct Prediction {
    Seconds time{}, low{}, high{};
    Collective measured = Collective::allreduce;  ///< the operation whose curves are used
    std::vector<const MeasuredCurve*> curves{};   ///< the one or two curves that the time is based on
    bool beyond_counts = false;                   ///< whether the exchange has fewer or more nodes than were measured
    bool beyond_sizes = false;                    ///< whether the message is much larger than the largest measured message
  };
  [[nodiscard]] std::optional<Prediction> predict(Collective operation, Bytes message, double ranks, double nodes) const;

  /// Returns the error of predictions for counts that are left out: the median of
  /// |predicted/measured − 1| over all sizes, and over all counts that lie between two other
  /// measured counts. Empty if no such count was measured.
  [[nodiscard]] std::optional<double> left_out_error() const;

  friend bool operator==(const MeasuredExchanges& a, const MeasuredExchanges& b) { return a.curves_ == b.curves_; }

 private:
  /// The measured counts next to a count of nodes. Both are equal if the count was measured, or is
  /// outside the measured range.
  struct Neighbours {
    const MeasuredCurve* fewer = nullptr;
    const MeasuredCurve* more = nullptr;
    double weight = 0;  ///< weight of `more`
  };
  [[nodiscard]] Neighbours neighbours(Collective operation, double ranks, double nodes,
                                      const MeasuredCurve* left_out = nullptr) const;
  [[nodiscard]] Neighbours neighbours_or_like(Collective operation, double ranks, double nodes) const;
  /// Returns the time predicted for a count between its neighbors, or from a single curve if both neighbors are equal.
  [[nodiscard]] Seconds between(const Neighbours& near, Bytes message, double ranks, double nodes) const;
  /// Returns the time that one curve predicts for another count of nodes as a tree. For more nodes, the caller from() takes
  /// the shorter of the times of ring and tree; for fewer nodes, the longer one.
  [[nodiscard]] Seconds as_tree(const MeasuredCurve& curve, Bytes message, double places) const;
  [[nodiscard]] Seconds from(const MeasuredCurve& curve, Bytes message, double ranks, double nodes) const;
  [[nodiscard]] double least_of(const MeasuredCurve& curve) const;

  std::vector<MeasuredCurve> curves_;
  std::vector<double> least_of_curves_;  ///< least seconds per byte of each curve
  /// By operation: the curves of exchanges that run alone, as indices.
  EnumArray<Collective, std::vector<std::size_t>> of_operation_;
  SecondsPerByte least_{};
};

}  // namespace ddl
