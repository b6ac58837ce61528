#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/enum_array.hpp"
#include "estimator/kernels/kernel_model.hpp"
#include "estimator/kernels/problem_times.hpp"
#include "estimator/kernels/timed_kernel.hpp"
#include "estimator/strategies/strategy.hpp"

namespace ddl {

/// Scratch memory of the kernels of a shard. The kernels run one after the other.
struct ShardWorkspace {
  struct Range {
    Bytes expected{}, most{};
  };
  Range forward, backward_weight, backward_data;
  int kernels = 0;
  int estimated = 0;  ///< number of kernels whose scratch memory is estimated from other kernels of their family
  int unknown = 0;    ///< number of kernels whose scratch memory is unknown
};

/// Times of the shards of one model, based on measurements. Each time is computed once and cached for all plans. Not
/// thread-safe.
class ShardTimes {
 public:
  /// `wide`: the roofline of fp32, if autocast runs some kernels in fp32.
  /// `model`: how much a reduced power limit slows kernels down, which were measured without it.
  ShardTimes(const MeasuredKernels& measured, const Roofline& roofline, Precision precision,
             const std::optional<Roofline>& wide = std::nullopt, const KernelModel& model = {});

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const std::string& layout() const { return layout_; }
  /// Returns the model or workload with the measured steps. The overhead of these steps is the time beyond their kernels.
  [[nodiscard]] const std::string& steps() const { return steps_; }
  [[nodiscard]] const StepOverhead& overhead(Phase phase) const { return phase == Phase::forward ? forward_ : backward_; }
  [[nodiscard]] const StepOverhead& update_overhead() const { return update_; }
  [[nodiscard]] SecondsPerByte fresh_memory() const { return fresh_memory_; }
  [[nodiscard]] const ProblemTimes& problems() const { return times_; }
  /// Returns the kernels of one rank's shard of one layer, and the step overhead of this shard.
  [[nodiscard]] const std::vector<TimedKernel>& kernels(const ShardContext& context, const LayerShard& shard) const {
    return kernels_of(context, shard).kernels;
  }
  [[nodiscard]] const ShardWorkspace& workspace(const ShardContext& context, const LayerShard& shard) const {
    return kernels_of(context, shard).workspace;
  }
  /// Returns the time of the optimizer's update of this many parameters; zero for zero parameters.
  [[nodiscard]] KernelCost update(double parameters, Optimizer optimizer, Precision precision) const;
  /// Returns the time of the update of a whole list of tensors, which has no additional overhead.
  [[nodiscard]] KernelCost update(const UpdateProblem& list) const;
  /// Returns a lower bound of the time of forward and backward of this layer, summed over all ranks, for any split.
  [[nodiscard]] Seconds least(const ShardContext& context, const LayerShard& whole) const;

 private:
  using Key = std::vector<std::int64_t>;
  struct Hash {
    std::size_t operator()(const Key& key) const;
  };
  struct Kernels {
    std::vector<TimedKernel> kernels;
    ShardWorkspace workspace;
  };
  [[nodiscard]] const Kernels& kernels_of(const ShardContext& context, const LayerShard& shard) const;
  [[nodiscard]] Kernels predict(const ShardContext& context, const LayerShard& shard) const;
  /// Returns the time of a problem. If autocast runs a kernel in fp32, the time is the measured time, or else the 16-bit
  /// time multiplied by the ratio of the fp32 roofline to the 16-bit roofline.
  [[nodiscard]] KernelCost cost(const Problem& problem) const;
  [[nodiscard]] Seconds least(const Problem& problem) const;

  std::string name_, layout_, steps_;
  Precision precision_;
  ProblemTimes times_;
  std::optional<ProblemTimes> wide_;
  StepOverhead forward_, backward_, update_;
  SecondsPerByte fresh_memory_;
  Provenance overhead_source_;
  /// By type of kernel: how many times as long kernels take under a reduced power limit.
  EnumArray<KernelKind, double> under_limit_{};
  mutable std::unordered_map<Key, Kernels, Hash> known_;
  mutable std::unordered_map<Key, KernelCost, Hash> known_updates_;
  mutable Key key_;
};

}  // namespace ddl
