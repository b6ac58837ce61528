#pragma once

#include <vector>

#include "estimator/exchanges/gradient_exchange.hpp"
#include "estimator/layers/layer_costs.hpp"
#include "estimator/schedules/schedule.hpp"
#include "estimator/step/step.hpp"

namespace ddl {

/// Returns the shares of a stage's passes that the longest stage waits for, under the schedule of a plan.
[[nodiscard]] BubbleShares bubble_shares(const Plan& plan, const Assumptions& assumptions);

/// Returns whether two stages have equal layers, in a run of repeated layers that neither of them begins or ends. If plans
/// treat such stages alike, both have equal tasks.
[[nodiscard]] bool have_equal_layers(const LayerRuns& runs, const LayerRange& a, const LayerRange& b);

/// Returns the costs of the layers whose parameters a rank of a stage holds. With DualPipe, these include the layers of the
/// mirror stage at the other end. `firsts`: the first layer of each stage, and the layer count.
[[nodiscard]] LayerCosts held_costs(const LayerCostTable& costs, const Plan& plan, const std::vector<int>& firsts,
                                    int stage);

/// Returns the number of the model's blocks among the layers of held_costs.
[[nodiscard]] double held_blocks(const ModelFacts& facts, const Plan& plan, const std::vector<int>& firsts, int stage);

/// Returns the exchange of a group of gradients, on the mesh of the group's layout.
[[nodiscard]] GradientExchange exchange_of(const LayerCostTable& costs, const Plan& plan, const ExchangedBytes& each,
                                           const GradientGroup& group, bool with_startups = false);
/// Returns the exchanges of all groups of a stage, one after the other.
[[nodiscard]] GradientExchange exchange_of(const LayerCostTable& costs, const Plan& plan, const ExchangedBytes& each,
                                           const std::vector<GradientGroup>& groups, bool with_startups = false);

/// The work of a stage for each micro-batch: the work of all its layers, or of a single layer.
struct StageWork {
  const LayerCosts& costs;
  const LayerCosts* again = nullptr;  ///< costs of the blocks that full recomputation recomputes; null if there are none
  double hidden_of_experts = 0;       ///< share of the experts' All-to-alls that is hidden behind compute (overlaps.hpp)
};
/// Adds the tasks of a stage. Backward begins with the recomputed part of forward, including its communication. `origin`:
/// the coefficients at which the costs were estimated, if tasks need derivatives; null if times are constants.
void add_tasks(const StageWork& work, int stage, const Plan& plan, const Assumptions& assumptions, const Learned* origin,
               std::vector<Task>& tasks);

}  // namespace ddl
