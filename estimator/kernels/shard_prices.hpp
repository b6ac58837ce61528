#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "estimator/kernels/measured_prices.hpp"
#include "estimator/kernels/priced_kernel.hpp"
#include "estimator/strategies/strategy.hpp"

namespace ddl {

/// Scratch memory of the kernels of a shard, which run one after the other.
struct ShardWorkspace {
  struct Range {
    Bytes expected{}, most{};
  };
  Range forward, backward_weight, backward_data;
  int kernels = 0;
  int estimated = 0;  ///< kernels whose scratch memory is estimated from others of their family
  int unknown = 0;    ///< kernels whose scratch memory is unknown
};

/// Times of the shards of one model, based on measurements. Each time is computed once and cached for all plans. Not
/// thread-safe.
class ShardPrices {
 public:
  /// `wide`: the roofline of fp32, if autocast runs some kernels in it.
  ShardPrices(const MeasuredKernels& measured, const Roofline& roofline, Precision precision,
              const std::optional<Roofline>& wide = std::nullopt);

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const std::string& layout() const { return layout_; }
  /// The model or workload whose steps the overhead beyond kernels was measured in, and the result.
  [[nodiscard]] const std::string& steps() const { return steps_; }
  [[nodiscard]] const StepOverhead& overhead(Phase phase) const { return phase == Phase::forward ? forward_ : backward_; }
  [[nodiscard]] const StepOverhead& update_overhead() const { return update_; }
  [[nodiscard]] SecondsPerByte fresh_memory() const { return fresh_memory_; }
  [[nodiscard]] const MeasuredPrices& problems() const { return prices_; }
  /// The kernels of one rank's part of one layer, and its step overhead.
  [[nodiscard]] const std::vector<PricedKernel>& kernels(const ShardContext& context, const LayerShard& shard) const {
    return priced(context, shard).kernels;
  }
  [[nodiscard]] const ShardWorkspace& workspace(const ShardContext& context, const LayerShard& shard) const {
    return priced(context, shard).workspace;
  }
  /// The optimizer's update of this many parameters; zero time for zero parameters.
  [[nodiscard]] KernelPrice update(double parameters, Optimizer optimizer, Precision precision) const;
  /// The update of a whole list, which has no additional overhead.
  [[nodiscard]] KernelPrice update(const UpdateProblem& list) const;
  /// Lower bound of the total time, forward and backward, of all ranks for any split of this layer.
  [[nodiscard]] Seconds least(const ShardContext& context, const LayerShard& whole) const;

 private:
  using Key = std::vector<std::int64_t>;
  struct Hash {
    std::size_t operator()(const Key& key) const;
  };
  struct Priced {
    std::vector<PricedKernel> kernels;
    ShardWorkspace workspace;
  };
  [[nodiscard]] const Priced& priced(const ShardContext& context, const LayerShard& shard) const;
  [[nodiscard]] Priced price(const ShardContext& context, const LayerShard& shard) const;
  /// The time of a kernel in fp32 while others run in 16 bits: the measured time, or else the 16-bit time multiplied by the
  /// ratio of rooflines.
  [[nodiscard]] KernelPrice price(const Problem& problem) const;
  [[nodiscard]] Seconds least(const Problem& problem) const;

  std::string name_, layout_, steps_;
  Precision precision_;
  MeasuredPrices prices_;
  std::optional<MeasuredPrices> wide_;
  StepOverhead forward_, backward_, update_;
  SecondsPerByte fresh_memory_;
  Provenance overhead_source_;
  mutable std::unordered_map<Key, Priced, Hash> known_;
  mutable std::unordered_map<Key, KernelPrice, Hash> known_updates_;
  mutable Key key_;
};

}  // namespace ddl
