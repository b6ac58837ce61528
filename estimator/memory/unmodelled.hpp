#pragma once

#include "core/quantity.hpp"
#include "estimator/layers/job.hpp"
#include "estimator/plan/plan.hpp"

namespace ddl {

/// Returns an upper bound of what operators of eager frameworks keep for backward in addition to the rules of this program:
/// masks and copies of dropout in adapters, copies of repeated keys and values, and views that keep the storage of larger
/// tensors. It is a share of the activations, for sequence models in mixed precision whose formulas run operator by operator.
[[nodiscard]] Bytes most_unmodelled(const Job& job, const Plan& plan, Bytes activations);

}  // namespace ddl
