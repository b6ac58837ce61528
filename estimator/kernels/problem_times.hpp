#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "estimator/kernels/measured_kernels.hpp"
#include "estimator/kernels/provenance.hpp"
#include "estimator/kernels/roofline.hpp"

namespace ddl {

/// Scratch memory of a kernel in bytes, expected and at most.
struct KernelWorkspace {
  Bytes expected{}, most{};
  /// `measured`: the same problem was measured. `interpolated`: estimated from the nearest measured problem of its family.
  /// `roofline`: unknown.
  Provenance source = Provenance::roofline;
};

struct KernelCost {
  Seconds time{};
  Provenance source = Provenance::roofline;
  KernelWorkspace workspace{};
};

/// Times of single problems that are based on measured problems. A time has one of three sources,
/// the most certain first:
///
/// - `measured`: the same problem was timed; the time is the median.
/// - `interpolated`: the problem lies between two measured problems of its family, which differ
/// only in sizes. In logarithms of samples, channels and extents, the problem lies on the segment
/// between the two. log(time/roofline) is linear along the segment, and the time stays between the
/// two measured times.
/// - `curve`: the mean of log(time/roofline) of the family's problems, weighted by a Gaussian of
/// their distance in logarithms of sizes [Nadaraya, "On estimating regression", 1964; Watson,
/// "Smooth regression analysis", 1964]. If the family has no measured problem, the distance is in
/// logarithms of operations and bytes. The mean is then over problems of the same operation and
/// pass, else of the same operation, else over all problems.
///
/// A weighted mean never exceeds the measured range.
///
/// The scratch memory of a measured problem is known. For other sizes, scratch memory may grow with
/// the tensors, as copies in another layout do, or stay constant, as partial sums do. Both values
/// are computed from the nearest measured problem of the family. One is the expected value, and the
/// other is the upper bound.
class ProblemTimes {
 public:
  /// Uses only problems of this precision.
  ProblemTimes(const MeasuredKernels& measured, const Roofline& roofline, Precision precision);

  /// Returns whether no kernel of this precision has a measured time, so that no time can be predicted.
  [[nodiscard]] bool empty() const { return all_.points.empty(); }
  [[nodiscard]] KernelCost cost(const Problem& problem) const;
  [[nodiscard]] KernelCost cost(const UpdateProblem& problem) const;
  /// Returns the most precise measurement of the problem with this profile line; nullptr if there is none.
  [[nodiscard]] const MeasuredTime* measured(const std::string& line) const;
  /// Returns a lower bound of time divided by roofline time, for problems of this problem's family.
  [[nodiscard]] double least_ratio(const Problem& problem) const;
  [[nodiscard]] Seconds roofline(const Problem& problem) const;

 private:
  /// Binary logarithms of sizes: samples, output channels, channels of the first input, three extents, channels and
  /// positions of the other inputs, rows of a table.
  static constexpr std::size_t sizes = 9;
  using Place = std::array<double, sizes>;

  struct Point {
    Place place{};
    double operations = 0, bytes = 0;  ///< binary logarithms of the problem's operations and bytes
    double seconds = 0, roofline = 0;
    double ratio = 0;  ///< logarithm of time divided by roofline time
    std::optional<Bytes> workspace{};
  };
  /// The features of a problem for lookup, before it has a time.
  struct KernelQuery {
    Point point;
    std::string family, pass, operation;  ///< three levels of similarity; each includes the level before
  };
  /// A profile line with a time.
  struct Known {
    std::uint32_t point = 0;
    MeasuredTime time{};
  };
  /// Points with a common feature, and their smallest ratio of time and roofline time.
  struct Group {
    std::vector<std::uint32_t> points;  ///< points with a time
    Place low{}, high{};                ///< bounding box of the points' sizes in logarithms
    double least = 0;
    bool has_idle = false;
  };

  [[nodiscard]] KernelQuery query_of(const Problem& problem) const;
  [[nodiscard]] KernelQuery query_of(const UpdateProblem& problem) const;
  void add(const std::string& line, KernelQuery query, const MeasuredTime& time, const std::optional<Bytes>& workspace);
  void join(Group& group, std::uint32_t point, bool idle);
  [[nodiscard]] KernelCost cost(const std::string& line, const KernelQuery& query) const;
  [[nodiscard]] KernelWorkspace workspace(const Group& family, const Point& query) const;
  /// Interpolates between two points of the family. Returns false if there is no suitable pair of points.
  [[nodiscard]] bool between(const Group& family, const Point& query, double& seconds) const;
  [[nodiscard]] const Group& nearest_group(const KernelQuery& query, bool& is_family) const;
  [[nodiscard]] double curve(const Group& group, const Point& query, bool is_family) const;

  Roofline roofline_;
  std::vector<Point> points_;
  std::unordered_map<std::string, Known> lines_;
  std::unordered_map<std::string, Group> families_, passes_, operations_;
  Group all_;
};

}  // namespace ddl
