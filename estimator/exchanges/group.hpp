#pragma once

#include <array>

#include "estimator/inputs/machine.hpp"
#include "estimator/plan/plan.hpp"

namespace ddl {

/// The ranks that take part in one exchange: the number of ranks, the number of these ranks in one unit of each level of the
/// interconnect, and the number of equal groups that communicate at the same time.
///
/// Ranks are laid out axis by axis in the plan's placement order, so that the ranks of the innermost axis are neighbors.
struct Group {
  static constexpr std::size_t max_levels = 8;
  double ranks = 1;
  /// members[l]: ranks of one group inside one unit of level l (a node, a rack, …).
  std::array<double, max_levels> members{};
  /// flows[l]: groups with ranks in one unit of level l. All these groups may send across the unit's boundary at once.
  std::array<double, max_levels> flows{};
  /// Index of the level at which all ranks of the group meet.
  std::size_t outermost = 0;
  /// The position of the group's ranks among all ranks of the plan: for each axis, innermost first,
  /// the number of ranks and their stride.
  struct Digit {
    double size = 1, stride = 1;
    friend bool operator==(const Digit&, const Digit&) = default;
  };
  std::array<Digit, axis_count> digits{};
  std::size_t digit_count = 0;
  double all = 1;  ///< ranks of the plan

  [[nodiscard]] double nodes() const { return ranks / members[0]; }
};

/// Returns the group of ranks along the given axes of a plan, which is a single rank if the degrees of these axes are one.
[[nodiscard]] Group group_of(const Plan& plan, const Machine& machine, Family axes);

}  // namespace ddl
