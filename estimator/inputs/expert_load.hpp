#pragma once

#include <cstdint>

#include "estimator/inputs/assumptions.hpp"
#include "estimator/plan/plan.hpp"

namespace ddl {

/// Returns the expected number of tokens of the busiest rank of an expert split, divided by the mean over ranks, if a
/// trained router chooses the experts. `experts`: the experts of a layer. `ranks`: the ranks that hold equal numbers of
/// them.
[[nodiscard]] double routed_load(Routing routing, double experts, double ranks);
/// Returns the number of tokens that the busiest rank computes, divided by the mean over ranks. Ranks wait for this rank.
[[nodiscard]] double expert_load(const Assumptions& assumptions, double experts, double ranks);
/// Returns the load that a router trained with an auxiliary loss makes, but at most the capacity.
[[nodiscard]] double natural_load(const Assumptions& assumptions, double experts, double ranks);
/// Returns whether the user has not said how tokens are spread over experts.
[[nodiscard]] bool is_load_unknown(const Assumptions& assumptions);
/// Returns whether a plan has forwards and backwards of different micro-batches at the same time, which may hide the
/// All-to-alls of experts. This requires several micro-batches, no recomputed dispatch, and, in a pipeline, 1F1B with
/// interleaved stages [Megatron-Bridge, comm_overlap.py] or micro-batches in both directions [DSV3, section 3.2.1].
[[nodiscard]] bool may_hide_expert_exchanges(const Plan& plan);

}  // namespace ddl
