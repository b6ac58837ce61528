#pragma once

#include <optional>

#include "estimator/memory/verdict.hpp"
#include "estimator/search/search.hpp"
#include "estimator/step/estimate.hpp"

namespace ddl {

/// A plan that recomputes some blocks.
struct RecomputedPlan {
  Plan plan;
  /// Upper bound of how much shorter a step may be with another choice of blocks: the difference to the best choice of
  /// fractions of blocks, whose time is a lower bound if the memory of blocks adds up.
  Seconds gap{};
};

/// Chooses the recomputed blocks of each stage that take the least time and give the plan the verdict `allowed` or a better
/// one. This is a knapsack: recomputed blocks must free at least the missing memory. Dynamic programming over the kinds of
/// blocks finds the Pareto front of time and freed memory. The estimator checks the memory of the choice, and memory that is
/// still missing is freed, too. Returns a plan without recomputation if it fits; nothing if the plan does not fit with all
/// blocks recomputed.
[[nodiscard]] std::optional<RecomputedPlan> least_recomputation(const Estimator& estimator, const Plan& plan,
                                                                Verdict allowed);

/// Returns the fastest plan that differs from `alike` only in its recomputed blocks (least_recomputation()) and perhaps in a
/// lower ZeRO stage. Returns nothing if this plan recomputes no block, or the same blocks of each stage.
[[nodiscard]] std::optional<RecomputedPlan> best_recomputation(const Estimator& estimator, const SearchOptions& options,
                                                               const Plan& alike, Verdict allowed);

/// Returns whether the user lets the search choose which blocks are recomputed.
[[nodiscard]] bool may_choose_recomputed_blocks(const SearchOptions& options, const Job& job);

}  // namespace ddl
