#pragma once

#include <functional>

#include "core/quantity.hpp"
#include "estimator/plan/plan.hpp"
#include "estimator/search/time_bounds.hpp"
#include "estimator/search/variants.hpp"
#include "estimator/step/estimate.hpp"

namespace ddl {

/// The different ways to save memory in a group of choices.
struct SavingChoices {
  explicit SavingChoices(const LikeChoices& choices);

  ChoiceValues first;  ///< the simplest choices
  LikeChoices orders;  ///< schedules and virtual stages
  LikeChoices ways;    ///< ways to shard parameters
  LikeChoices kinds;   ///< kinds of recomputation
  bool moves = false;  ///< whether plans may keep less without the recomputation of more blocks
};

/// The plans of a search with some degrees, micro-batches, placement and choices. The choices divide layers alike.
struct LikePlans {
  const Plan& plan;
  const SavingChoices& choices;
};

/// Returns whether all of these plans that may need at most `limit` bytes take too long. Such a plan must shard its
/// parameters or recompute blocks, so it takes at least the time of the fastest way to do so. `is_too_long`: whether a time
/// is too long; it must also be true for longer times.
[[nodiscard]] bool all_that_fit_are_slow(const Estimator& estimator, const TimeBounds& bounds, const VariantSpace& space,
                                         const LikePlans& plans, Bytes limit,
                                         const std::function<bool(Seconds)>& is_too_long);

}  // namespace ddl
