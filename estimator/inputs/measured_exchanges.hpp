#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/quantity.hpp"
#include "estimator/inputs/collective.hpp"

namespace ddl {

/// How long one operation takes among all ranks of some nodes, as a benchmark measured it size by size.
struct MeasuredCurve {
  struct Point {
    Bytes message{};          ///< of the full vector, above zero
    Seconds time{};           ///< of one operation, above zero
    std::string algorithm{};  ///< and protocol that the library ran; empty where nothing says it
    friend bool operator==(const Point&, const Point&) = default;
  };

  Collective operation = Collective::allreduce;
  int ranks = 2;
  int nodes = 1;
  /// Messages in flight at once in each direction, as in a bandwidth test of two ranks; 1 elsewhere.
  double window = 1;
  bool both_ways = false;       ///< of two ranks, each sends to the other at once
  std::vector<Point> points{};  ///< at least one; sizes ascend
  /// Geometric standard deviation of one repetition of a point; 1 where nothing was repeated.
  double spread = 1;
  std::string tool{};    ///< that measured it, with its version
  std::string date{};    ///< on which it was read, as 2026-11-23
  std::string source{};  ///< its files

  /// Time is linear in the size between two sizes, as α + βm is. Below the smallest size it stays, above the largest it
  /// grows as between the last two.
  [[nodiscard]] Seconds at(Bytes message) const;
  /// By how much a time may be shorter and longer than at() says between two sizes, as logarithms: halfway, the larger
  /// distance of the two sizes' own times from the line through their neighbors, but not below both
  /// times. 0 at a measured size, below the smallest and above the largest. docs/formulas.md, "Measured exchanges".
  struct SizeDoubt {
    double shorter = 0, longer = 0;
  };
  [[nodiscard]] SizeDoubt size_doubt(Bytes message) const;
  /// What the library ran for a message of this size: that of the sizes next to it, `Tree LL128 or Ring Simple` if they
  /// differ; empty where one of them does not say it.
  [[nodiscard]] std::string algorithm_at(Bytes message) const;
  /// Time of a byte above the largest size.
  [[nodiscard]] SecondsPerByte last_slope() const;
  /// Whether start-ups take less than a tenth of the time of the largest size, so that larger messages go on as measured.
  [[nodiscard]] bool ends_by_bytes() const;
  friend bool operator==(const MeasuredCurve&, const MeasuredCurve&) = default;
};

/// Prices exchanges by measurements of the same operation. docs/formulas.md, "Measured exchanges", has the formulas.
///
/// Each curve predicts other counts of nodes with as many ranks each in two ways: as a ring, whose steps take as long as
/// steps of the same size, and as a tree, of whose time all but what the bytes take grows with the logarithm of the nodes.
/// Libraries take the shorter of the two. Between two measured counts both predict, weighted by the logarithm of the nodes;
/// the way in which they agree is the one that ran, so each way weighs by the inverse square of their disagreement.
/// Inside a node ranks stand for nodes.
class MeasuredExchanges {
 public:
  MeasuredExchanges() = default;
  /// Of the same operation, ranks, nodes and window at most one curve each. Curves keep their order.
  explicit MeasuredExchanges(std::vector<MeasuredCurve> curves);

  [[nodiscard]] const std::vector<MeasuredCurve>& curves() const { return curves_; }
  [[nodiscard]] bool empty() const { return curves_.empty(); }

  /// Time of an exchange of `ranks` ranks, equally many on each of `nodes` nodes, while no other exchange runs. `message` is
  /// the full vector. Nothing if no curve has as many ranks a node, or for one rank. A Reduce-scatter that was not
  /// measured takes what an Allgather takes, and the other way round: both move the same bytes in the same steps.
  [[nodiscard]] std::optional<Seconds> time(Collective operation, Bytes message, double ranks, double nodes) const;

  /// Whether time() is based on two nodes alone, and more are asked for. Of the bytes of an Allreduce two nodes may send
  /// each other half of what each of more nodes sends, so that what two nodes reach is no promise for more.
  [[nodiscard]] bool rests_on_two_nodes(Collective operation, double ranks, double nodes) const;

  /// Geometric standard deviation of one repetition of such an exchange, as of the curves that time() uses, weighted as
  /// their times are; 1 where nothing was repeated, or time() has nothing.
  [[nodiscard]] double spread(Collective operation, double ranks, double nodes) const;
  /// Whether any of the curves was repeated.
  [[nodiscard]] bool has_spread() const;

  /// A lower bound of the time of a byte of any message: time(…) is at least `message` times this. Nothing if time() has
  /// nothing.
  [[nodiscard]] std::optional<SecondsPerByte> least_per_byte(Collective operation, double ranks, double nodes) const;
  /// The least of least_per_byte() over all counts that were measured or may be asked for, half of it for an Allreduce.
  /// Infinite if nothing was measured.
  [[nodiscard]] SecondsPerByte least_per_byte() const { return least_; }

  /// A time with its 95 % interval, which holds what either way of predicting gives, and why it may be worse than that.
  struct Prediction {
    Seconds time{}, low{}, high{};
    Collective measured = Collective::allreduce;  ///< the operation whose curves are used
    std::vector<const MeasuredCurve*> curves{};   ///< one or two
    bool beyond_counts = false;                   ///< fewer or more nodes than measured
    bool beyond_sizes = false;                    ///< a much larger message than measured
  };
  [[nodiscard]] std::optional<Prediction> predict(Collective operation, Bytes message, double ranks, double nodes) const;

  /// How well measurements with one count left out predict it: the median over counts between two others, and sizes, of
  /// |predicted/measured − 1|. Nothing if no count lies between two others.
  [[nodiscard]] std::optional<double> left_out_error() const;

  friend bool operator==(const MeasuredExchanges& a, const MeasuredExchanges& b) { return a.curves_ == b.curves_; }

 private:
  /// Curves next to a count; both the same one where it is measured, or beyond all others.
  struct Neighbours {
    const MeasuredCurve* fewer = nullptr;
    const MeasuredCurve* more = nullptr;
    double weight = 0;  ///< of `more`
  };
  [[nodiscard]] Neighbours neighbours(Collective operation, double ranks, double nodes,
                                      const MeasuredCurve* left_out = nullptr) const;
  [[nodiscard]] Neighbours neighbours_or_like(Collective operation, double ranks, double nodes) const;
  /// What neighbors predict for a count between theirs, or a single one if they are the same.
  [[nodiscard]] Seconds between(const Neighbours& near, Bytes message, double ranks, double nodes) const;
  /// What one curve says of another count: as a tree, and the shorter way for more nodes, the longer one for fewer.
  [[nodiscard]] Seconds as_tree(const MeasuredCurve& curve, Bytes message, double places) const;
  [[nodiscard]] Seconds from(const MeasuredCurve& curve, Bytes message, double ranks, double nodes) const;
  [[nodiscard]] double least_of(const MeasuredCurve& curve) const;

  std::vector<MeasuredCurve> curves_;
  std::vector<double> least_of_curves_;  ///< least seconds per byte of each
  SecondsPerByte least_{};
};

}  // namespace ddl
