#pragma once

#include "core/quantity.hpp"
#include "estimator/plan/plan.hpp"
#include "estimator/step/estimate.hpp"

// The functions return lower bounds of the memory of plans. A search prunes plans by these bounds.

namespace ddl {

/// Returns a lower bound of the memory of all plans with these degrees, for any sharding and recomputation.
[[nodiscard]] Bytes memory_lower_bound(const Job& job, const Plan& plan);
/// Returns whether all plans with these degrees and this offloading need more host memory than a node has, for any sharding.
[[nodiscard]] bool host_lacks_memory(const Estimator& estimator, const Plan& plan);
/// Returns a lower bound of the memory of parameters and their optimizer state in the stage with
/// most memory, for plans with these choices and any cuts of the stages.
[[nodiscard]] Bytes parameters_lower_bound(const Job& job, const Plan& plan);
/// Returns whether the parameters, together with the activations that the first stage keeps, need
/// more than `limit`. The check is cheap for plans that differ only in recomputation.
[[nodiscard]] bool keeps_more_than(const Estimator& estimator, const Plan& plan, Bytes limit);
/// Returns whether a plan needs more memory than `limit`. Computations that do not affect the answer are skipped.
[[nodiscard]] bool needs_more_than(const Estimator& estimator, const Plan& plan, Bytes limit);

}  // namespace ddl
