#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <tuple>

#include "estimator/choices/plan_choice.hpp"
#include "estimator/search/search.hpp"
#include "estimator/step/estimate.hpp"

namespace ddl {

/// A key that orders plans by simplicity, where simpler plans have smaller keys. No two plans of a search have equal keys.
using Simplicity = std::array<std::int64_t, plan_choice_count + mesh_dimensions + 3>;
[[nodiscard]] Simplicity simplicity_of(const Plan& plan);

/// Rounds a time, so that two sums of equal terms in different orders are equal.
[[nodiscard]] double rounded(double value);

/// The criteria by which plans are ranked, in order.
struct Rank {
  Verdict verdict = Verdict::fits;
  double first = 0, second = 0;
  Simplicity simplicity{};
  friend auto operator<=>(const Rank&, const Rank&) = default;
};
[[nodiscard]] Rank rank_of(const RankedPlan& ranked, Objective objective);
/// Returns whether `a` is ranked before `b`.
[[nodiscard]] bool preferred(const RankedPlan& a, const RankedPlan& b, Objective objective);

/// Returns the verdict by which an estimate is ranked. Options decide whether plans at risk count as fitting.
[[nodiscard]] Verdict verdict_for(const Estimate& estimate, const SearchOptions& options);
[[nodiscard]] RankedPlan ranked(const Estimate& estimate, const SearchOptions& options);

/// Returns how far a rejected plan is from being possible: first the number of violations, where a
/// lack of memory counts least, then the size of the largest violation.
[[nodiscard]] std::tuple<int, double> miss(const Limits& limits);
[[nodiscard]] inline std::tuple<int, double> miss(const Estimate& estimate) { return miss(estimate.limits); }

}  // namespace ddl
