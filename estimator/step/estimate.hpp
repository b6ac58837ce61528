#pragma once

#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "core/quantity.hpp"
#include "estimator/inputs/time_errors.hpp"
#include "estimator/layers/job.hpp"
#include "estimator/layers/split_tables.hpp"
#include "estimator/memory/memory.hpp"
#include "estimator/memory/memory_timeline.hpp"
#include "estimator/memory/stage_memories.hpp"
#include "estimator/memory/verdict.hpp"
#include "estimator/plan/limit.hpp"
#include "estimator/plan/plan.hpp"
#include "estimator/step/plan_steps.hpp"
#include "estimator/step/step.hpp"
#include "estimator/step/undivided_times.hpp"

namespace ddl {

/// The average electrical power of a training in watts.
struct Power {
  double device = 0;  ///< power of one device
  std::optional<double>
      node{};                ///< power of one node with all devices; unset if the machine does not state its host's power
  double product_share = 0;  ///< share of the kernel time that matrix products and convolutions take
};

/// The time and memory of a plan. An infeasible plan also has an estimate. Its `limits` contain the reasons.
struct Estimate {
  Plan plan;
  Breakdown time;
  MemoryBreakdown memory;                   ///< memory of the stage with most memory
  Verdict verdict = Verdict::does_not_fit;  ///< the verdict of the plan's memory, if the plan was estimated
  Limits limits;
  Seconds epoch{};
  double efficiency = 0;      ///< time that one device needs for the step, divided by the total time of all devices
  Seconds hidden_exchange{};  ///< time of the gradient exchange that is overlapped with backward
  Seconds hidden_input{};
  Seconds host_waiting{};  ///< time in which the device waits for a host that launches kernels too slowly
  /// The part of `host_waiting` in forward passes and between steps, which steps without backward have, too.
  Seconds forward_host_waiting{};
  Seconds paging{};  ///< time in which the device waits for pages of managed memory
  std::string_view gradient_algorithm = to_string(AllreduceAlgorithm::ring);  ///< name of this algorithm, or `measured`
  double replicated_share = 0;  ///< share of the kernel time for work that other ranks repeat
  /// The share of the blocks' forward FLOPs that full recomputation recomputes.
  double recomputed_share = 1;
  CriticalStages critical;
  double imbalance = 0;  ///< time of the longest stage divided by the mean time of the stages, minus one
  /// The interval of the step time, and the sources of its error; unset until add_intervals sets them.
  std::optional<TimeInterval> interval{};
  std::shared_ptr<const TimeSensitivity> sensitivity{};
  std::optional<Power> power{};  ///< unset until add_power sets it

  [[nodiscard]] bool feasible() const { return limits.empty(); }
};

/// Predicts plans of one job. Results that are equal for several plans are cached. For example,
/// plans that differ only in schedule or sharding have the same layer costs. References that the
/// estimator returns are valid until the next call with a different plan. Not thread-safe.
class Estimator {
 public:
  /// Keeps a copy of the job. The parts of the job belong to its creator, or to the job itself (Job::with_coefficients).
  explicit Estimator(Job job);

  /// Returns time, memory and limits of a plan. A plan that violates a limit of shape has no time.
  [[nodiscard]] Estimate estimate(const Plan& plan) const;
  /// Like estimate(), but also gives a time for a plan with more devices than the machine has.
  [[nodiscard]] Estimate estimate_beyond_devices(const Plan& plan) const;
  /// Returns the limits that can be found without an estimate.
  [[nodiscard]] Limits limits(const Plan& plan) const;
  /// Returns the limit of host memory that a plan with this memory violates; empty if the plan violates no limit.
  [[nodiscard]] std::optional<Limit> host_limit(const Plan& plan, const MemoryBreakdown& memory) const;
  /// Returns only the time of a step. The shape of the plan must be possible.
  [[nodiscard]] Seconds step_time(const Plan& plan) const { return Seconds(steps_.timing(plan).step_time()); }
  /// Returns only the memory of the stage with most memory. The shape of the plan must be possible.
  [[nodiscard]] const MemoryBreakdown& memory(const Plan& plan) const { return fullest(plan).memory; }
  [[nodiscard]] StageMemories::PeakStage& fullest(const Plan& plan) const { return memories_.fullest(plan, stages(plan)); }
  [[nodiscard]] const std::vector<int>& stages(const Plan& plan) const { return steps_.stages(plan); }
  [[nodiscard]] StageOf stage(const Plan& plan, int number) const { return memories_.stage(plan, stages(plan), number); }

  [[nodiscard]] const Job& job() const { return job_; }
  [[nodiscard]] const SplitTables& tables() const { return tables_; }
  [[nodiscard]] const StageMemories& memories() const { return memories_; }
  [[nodiscard]] const PlanSteps& steps() const { return steps_; }
  [[nodiscard]] const UndividedTimes& undivided() const { return undivided_; }

 private:
  /// Returns the limits of the layouts of a plan with segments.
  [[nodiscard]] Limits segment_limits(const Plan& plan) const;
  /// Adds the limits of the recompute segments of a plan.
  void add_recompute_limits(const Plan& plan, Limits& limits) const;
  /// Adds the limits of ZeRO segments.
  void add_zero_limits(const Plan& plan, Limits& limits) const;
  /// Returns the time in which one device updates the whole model; of tables, only the rows with gradients if the plan
  /// updates tables in this way.
  [[nodiscard]] Seconds lone_update(const Plan& plan) const;
  /// Adds time and memory. The shape of the plan must be possible.
  void complete(Estimate& estimate) const;

  const Job job_;
  SplitTables tables_;
  StageMemories memories_;
  PlanSteps steps_;
  UndividedTimes undivided_;
  Seconds serial_update_{};
};

/// Sets MemoryBreakdown::peak_reserved to the result of a model of the framework's allocator.
/// Reports use the result; a search does not.
void add_reserved(const Estimator& estimator, Estimate& estimate);
void add_reserved(const Estimator& estimator, std::vector<Estimate>& estimates);
/// Returns the requests to the framework's allocator in a step of the stage with most memory. Empty
/// if the plan has no time, or if memory is a closed form. If `options` have a capacity, memory
/// outside of the allocator is subtracted from the capacity.
[[nodiscard]] std::optional<MemoryTimeline> memory_timeline(const Estimator& estimator, const Plan& plan,
                                                            const TimelineOptions& options = {});
/// Returns pointers to the estimates, ordered so that estimates with the same layer costs are adjacent.
[[nodiscard]] std::vector<Estimate*> by_split(std::vector<Estimate>& estimates);

}  // namespace ddl
