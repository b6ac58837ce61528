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

/// How simple a plan is, the simplest first. No two plans of a search are alike in it.
using Simplicity = std::array<std::int64_t, plan_choice_count + mesh_dimensions + 3>;
[[nodiscard]] Simplicity simplicity_of(const Plan& plan);

/// Times that are sums of the same parts in another order are the same.
[[nodiscard]] double rounded(double value);

/// What plans are ranked by, the best first.
struct Rank {
  Verdict verdict = Verdict::fits;
  double first = 0, second = 0;
  Simplicity simplicity{};
  friend auto operator<=>(const Rank&, const Rank&) = default;
};
[[nodiscard]] Rank rank_of(const RankedPlan& ranked, Objective objective);
/// Whether `a` is ranked before `b`.
[[nodiscard]] bool preferred(const RankedPlan& a, const RankedPlan& b, Objective objective);

/// What an estimate is ranked by, where options say whether risk counts.
[[nodiscard]] Verdict verdict_for(const Estimate& estimate, const SearchOptions& options);
[[nodiscard]] RankedPlan ranked(const Estimate& estimate, const SearchOptions& options);

/// How far a rejected plan is from possible: fewer kinds of trouble first, memory the mildest of them.
[[nodiscard]] std::tuple<int, double> miss(const Limits& limits);
[[nodiscard]] inline std::tuple<int, double> miss(const Estimate& estimate) { return miss(estimate.limits); }

}  // namespace ddl
