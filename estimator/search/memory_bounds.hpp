#pragma once

#include "core/quantity.hpp"
#include "estimator/plan/plan.hpp"
#include "estimator/step/estimate.hpp"

// Lower bounds of the memory of plans, by which a search prunes plans.

namespace ddl {

/// Returns a lower bound of the memory of all plans with these degrees, for any sharding and recomputation.
[[nodiscard]] Bytes memory_lower_bound(const Job& job, const Plan& plan);
/// Returns a lower bound of the memory of parameters and of their optimizer state, in the stage with most memory, for plans
/// with these choices and any cuts of the stages.
[[nodiscard]] Bytes parameters_lower_bound(const Job& job, const Plan& plan);
/// Returns whether the parameters and the activations that the first stage keeps need more memory than this. This bound is
/// cheap for plans that differ only in recomputation.
[[nodiscard]] bool keeps_more_than(const Estimator& estimator, const Plan& plan, Bytes limit);
/// Returns whether a plan needs more memory than this. It skips steps that do not affect the answer.
[[nodiscard]] bool needs_more_than(const Estimator& estimator, const Plan& plan, Bytes limit);

}  // namespace ddl
