#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "estimator/kernels/measured_kernels.hpp"
#include "estimator/kernels/provenance.hpp"
#include "estimator/kernels/roofline.hpp"

namespace ddl {

/// Scratch memory of a kernel.
struct KernelWorkspace {
  Bytes expected{}, most{};
  /// measured: of this very problem; interpolated: of the nearest that was measured of its family; roofline: nobody knows.
  Provenance source = Provenance::roofline;
};

struct KernelPrice {
  Seconds time{};
  Provenance source = Provenance::roofline;
  KernelWorkspace workspace{};
};

/// Prices of single problems that rest on measured ones, the nearest to a measurement first:
///
///   measured      the same line was timed: its median
///   interpolated  on the segment between two of its family, problems that differ in sizes alone, in logarithms of samples,
///                 channels and extents: log(time/roofline) linear along the segment, the time between theirs
///   curve         log(time/roofline) of the family's problems, weighted by a Gaussian of the distance in those logarithms
///                 [Nadaraya, "On estimating regression", 1964; Watson, "Smooth regression analysis", 1964]; without
///                 any in the family by that in the logarithms of operations and bytes, of those of the same operation and
///                 pass, of the same operation, of all
///
/// A weighted mean is never outside what was measured.
///
/// Scratch memory is that of the same line. Of another size it may grow with the tensors, as copies in another layout do, or
/// stay, as partial sums do: of the nearest of the family that was measured one of the two is expected and one is the most.
class MeasuredPrices {
 public:
  /// Of problems of this precision alone.
  MeasuredPrices(const MeasuredKernels& measured, const Roofline& roofline, Precision precision);

  /// Nothing that takes time was measured at this precision: there are no prices.
  [[nodiscard]] bool empty() const { return all_.points.empty(); }
  [[nodiscard]] KernelPrice price(const Problem& problem) const;
  [[nodiscard]] KernelPrice price(const UpdateProblem& problem) const;
  /// What was measured of this very line, the best known of several times; nullptr where nothing was.
  [[nodiscard]] const MeasuredTime* measured(const std::string& line) const;
  /// No problem of the family has a price below this times its roofline.
  [[nodiscard]] double least_ratio(const Problem& problem) const;
  [[nodiscard]] Seconds roofline(const Problem& problem) const;

 private:
  /// Binary logarithms of sizes: samples, output channels, channels of the first input, three extents, channels and
  /// positions of the other inputs, rows of a table.
  static constexpr std::size_t sizes = 9;
  using Place = std::array<double, sizes>;

  struct Point {
    Place place{};
    double operations = 0, bytes = 0;  ///< binary logarithms
    double seconds = 0, roofline = 0;
    double ratio = 0;  ///< logarithm of seconds over roofline
    std::optional<Bytes> workspace{};
  };
  /// What a problem is before it has a time.
  struct Asked {
    Point point;
    std::string family, pass, operation;  ///< each contains the one before
  };
  /// A line that was timed.
  struct Known {
    std::uint32_t point = 0;
    MeasuredTime time{};
  };
  /// Points that share something, and the smallest ratio of time and roofline among them.
  struct Group {
    std::vector<std::uint32_t> points;  ///< those that take time
    Place low{}, high{};                ///< nothing of them is smaller or larger
    double least = 0;
    bool has_idle = false;
  };

  [[nodiscard]] Asked asked(const Problem& problem) const;
  [[nodiscard]] Asked asked(const UpdateProblem& problem) const;
  void add(const std::string& line, Asked asked, const MeasuredTime& time, const std::optional<Bytes>& workspace);
  void join(Group& group, std::uint32_t point, bool idle);
  [[nodiscard]] KernelPrice price(const std::string& line, const Asked& asked) const;
  [[nodiscard]] KernelWorkspace workspace(const Group& family, const Point& asked) const;
  /// Between two of the family; nothing where there are no such two.
  [[nodiscard]] bool between(const Group& family, const Point& asked, double& seconds) const;
  [[nodiscard]] const Group& nearest_group(const Asked& asked, bool& is_family) const;
  [[nodiscard]] double curve(const Group& group, const Point& asked, bool is_family) const;

  Roofline roofline_;
  std::vector<Point> points_;
  std::unordered_map<std::string, Known> lines_;
  std::unordered_map<std::string, Group> families_, passes_, operations_;
  Group all_;
};

}  // namespace ddl
