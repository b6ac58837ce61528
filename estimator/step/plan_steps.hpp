#pragma once

#include <map>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "core/quantity.hpp"
#include "estimator/layers/split_tables.hpp"
#include "estimator/memory/stage_memories.hpp"
#include "estimator/plan/plan.hpp"
#include "estimator/step/step.hpp"
#include "estimator/step/updates.hpp"

namespace ddl {

/// A whole step as tasks, whose times know the coefficients that they depend on. A fit to measured runs uses their exact
/// derivatives.
struct StepTemplate {
  Step step;
  Updates updates;
};

/// The steps of plans whose shape is possible, and the stages into which their layers are cut. What plans share is computed
/// once. References are valid until the next call with another plan. Several threads must not use it at once.
class PlanSteps {
 public:
  /// Both have to outlive it.
  PlanSteps(const SplitTables& tables, const StageMemories& memories)
      : tables_(tables), memories_(memories), job_(tables.job()) {}

  /// Returns the first layer of every stage, and the layer count: the cuts with the shortest step, among those that fit if
  /// any fits. They depend only on degrees, micro-batches and placement of the plan. Empty if there are more stages than
  /// places for them.
  [[nodiscard]] const std::vector<int>& stages(const Plan& plan) const;
  /// Returns the numbers of virtual stages that a plan may have, from 1 on.
  [[nodiscard]] const std::vector<int>& stretches_of(const Plan& plan) const;
  /// A step and its timing before update and gradients: the same however parameters are sharded.
  struct Staged {
    Step step;
    Timing<double> timing;
    [[nodiscard]] Seconds iteration() const { return Seconds(timing.iteration()); }
  };
  [[nodiscard]] const Staged& staged(const Plan& plan) const;
  [[nodiscard]] const Updates& updates(const Plan& plan) const;
  /// Returns the time of a whole step, with update, gradients and input.
  [[nodiscard]] Timing<double> timing(const Plan& plan) const;
  [[nodiscard]] StepTemplate step_template(const Plan& plan) const;
  /// Returns the largest number of recomputed blocks (Plan::recompute_blocks) that leaves some block of some stage as it is;
  /// 0 if there is none.
  [[nodiscard]] int most_blocks_again(const Plan& plan) const;

 private:
  [[nodiscard]] Staged work_out(const Plan& plan, const LayerCostTable& costs, const std::vector<int>& firsts) const;
  [[nodiscard]] std::vector<int> cut(const Plan& plan, const LayerCostTable& costs) const;
  /// What is known of a split under one placement.
  struct Known {
    std::optional<std::vector<int>> cuts;
    /// By recomputation, virtual stages, schedule, offloaded activations and gathered weights.
    std::map<std::tuple<Recompute, int, int, Schedule, bool, bool>, Staged> staged;
    /// By what is sharded and offloaded, and whether ranks hold two parts of the layers.
    std::map<std::tuple<int, int, bool, int, Offload, bool>, Updates> updates;
  };
  [[nodiscard]] Known& known(const SplitTables::Split& split) const { return known_.of(split.slot, split.placing); }

  const SplitTables& tables_;
  const StageMemories& memories_;
  const Job& job_;
  mutable PerSplit<Known> known_;
  mutable std::map<std::pair<int, bool>, std::vector<int>> stretches_;
};

}  // namespace ddl
