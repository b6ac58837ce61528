#pragma once

#include <vector>

#include "estimator/inputs/software.hpp"
#include "estimator/layers/job.hpp"
#include "estimator/layers/layer_costs.hpp"
#include "estimator/plan/plan.hpp"
#include "estimator/step/step.hpp"

// All-to-alls of experts that are overlapped with the compute of another micro-batch.

namespace ddl {

/// Returns whether a software hides the All-to-alls of experts under a plan: it needs another micro-batch, 1F1B, interleaved
/// stages if there is a pipeline, and no full recomputation [Megatron-Bridge, comm_overlap.py].
[[nodiscard]] bool hides_expert_exchanges(const Software& software, const Plan& plan);

/// Returns the part of the All-to-alls of experts by which a micro-batch is shorter, in the mean of all micro-batches of one
/// stage, which has these costs.
[[nodiscard]] double hidden_share(const Job& job, const Plan& plan, const LayerCosts& costs, int stage);
/// Returns the same, at most, whichever stage has which layers and however many virtual stages.
[[nodiscard]] double most_hidden_share(const Job& job, const Plan& plan, const LayerCosts& costs);

/// Adds the tasks by which passes are shorter. No other stage waits less: a micro-batch that fills the pipeline or leaves it
/// is overlapped with no other. The share is that at the coefficients of the step.
void add_hidden_exchanges(const LayerCosts& costs, double share, int stage, const Learned* origin, std::vector<Task>& tasks);

}  // namespace ddl
