#pragma once

#include <cstdint>
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

/// A whole step as tasks. The tasks' times have derivatives with respect to the coefficients. A fit
/// to measured runs uses these derivatives.
struct StepTemplate {
  Step step;
  Updates updates;
};

/// The steps of plans with a possible shape, and the stages into which their layers are cut. Values that are equal for
/// several plans are computed once. References are valid until the next call with a different plan. Not thread-safe.
class PlanSteps {
 public:
  /// Both arguments must outlive this object.
  PlanSteps(const SplitTables& tables, const StageMemories& memories)
      : tables_(tables), memories_(memories), job_(tables.job()) {}

  /// Returns the first layer of every stage, and the layer count. Of the cuts that fit, or of all cuts if none fits, the
  /// cuts with the shortest step are chosen. The cuts depend only on degrees, micro-batches and placement of the plan. Empty
  /// if there are more stages than places at which a stage may begin.
  [[nodiscard]] const std::vector<int>& stages(const Plan& plan) const;
  /// Returns the numbers of virtual stages per stage that are possible for a plan, in ascending order from 1.
  [[nodiscard]] const std::vector<int>& virtual_stages_of(const Plan& plan) const;
  /// A step and its timing, without update and gradient exchange. Neither depends on how parameters are sharded.
  struct Staged {
    Step step;
    Timing<double> timing;
    [[nodiscard]] Seconds step_time() const { return Seconds(timing.step_time()); }
  };
  [[nodiscard]] const Staged& staged(const Plan& plan) const;
  [[nodiscard]] const Updates& updates(const Plan& plan) const;
  /// Returns the timing of a whole step, with update, gradient exchange and input.
  [[nodiscard]] Timing<double> timing(const Plan& plan) const;
  [[nodiscard]] StepTemplate step_template(const Plan& plan) const;
  /// Returns the largest number of recomputed blocks (Plan::recompute_blocks) with which some stage
  /// still has a block that is not recomputed; 0 if there is no such number.
  [[nodiscard]] int most_blocks_again(const Plan& plan) const;

 private:
  [[nodiscard]] Staged work_out(const Plan& plan, const LayerCostTable& costs, const std::vector<int>& firsts) const;
  [[nodiscard]] std::vector<int> cut(const Plan& plan, const LayerCostTable& costs) const;
  /// Cached values of a split under one placement.
  struct Known {
    std::optional<std::vector<int>> cuts;
    std::optional<std::int64_t> most_blocks;  ///< number of blocks of the stage that has most
    /// Steps, keyed by recomputation, virtual stages, schedule, offloaded activations, gathered weights, and whether forward
    /// frees them.
    std::map<
        std::tuple<Recompute, int, int, Schedule, bool, bool, bool, std::vector<RecomputeSegment>, std::vector<ZeroSegment>>,
        Staged>
        staged;
    /// The first of the steps that differ only in their virtual stages and bubbles, keyed by recomputation, the number of
    /// recomputed blocks of a stage, gathered weights, and whether forward frees them.
    std::map<std::tuple<Recompute, std::int64_t, bool, bool, std::vector<RecomputeSegment>>, const Staged*> in_chunks;
    /// Updates, keyed by sharding, offloading, and whether each rank holds the layers of two stages.
    std::map<std::tuple<int, int, int, bool, int, Offload, bool, std::vector<ZeroSegment>>, Updates> updates;
  };
  [[nodiscard]] Known& known(const SplitTables::Split& split) const { return known_.of(split.slot, split.placing); }

  const SplitTables& tables_;
  const StageMemories& memories_;
  const Job& job_;
  mutable PerSplit<Known> known_;
  /// Numbers of virtual stages, keyed by stages, whether these divide the micro-batches, and the blocks of the outer stages.
  mutable std::map<std::tuple<int, bool, int, int>, std::vector<int>> chunks_;
};

}  // namespace ddl
