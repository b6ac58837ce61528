#pragma once

#include "core/quantity.hpp"
#include "estimator/plan/plan.hpp"
#include "estimator/step/estimate.hpp"

// What no plan of some kind needs less memory than: a search gives up plans by it.

namespace ddl {

/// Returns a lower bound of the memory of all plans with these degrees, for any sharding and recomputation.
[[nodiscard]] Bytes memory_lower_bound(const Job& job, const Plan& plan);
/// Returns a lower bound of the memory of parameters, and of what the optimizer keeps of them, in the fullest stage of a
/// plan of these choices, for any cuts of the stages.
[[nodiscard]] Bytes parameters_lower_bound(const Job& job, const Plan& plan);
/// Returns whether parameters, and what the first stage keeps for backward, need more memory than that: a bound that costs
/// little where recomputation is what plans differ in.
[[nodiscard]] bool keeps_more_than(const Estimator& estimator, const Plan& plan, Bytes limit);
/// Returns whether a plan needs more memory than that, without going through steps that do not matter to the answer.
[[nodiscard]] bool needs_more_than(const Estimator& estimator, const Plan& plan, Bytes limit);

}  // namespace ddl
