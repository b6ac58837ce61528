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
  int estimated = 0;  ///< of these, by others of their family
  int unknown = 0;    ///< of these, not seen by anybody
};

/// Measured prices of the shards of one model: each is priced once, whichever plan asks for it. Not for use by several
/// threads at once.
class ShardPrices {
 public:
  /// `wide`: that of fp32, where autocast runs a part of the kernels so.
  ShardPrices(const MeasuredKernels& measured, const Roofline& roofline, Precision precision,
              const std::optional<Roofline>& wide = std::nullopt);

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const std::string& layout() const { return layout_; }
  /// What a whole step takes beside its kernels: whose steps were measured, and what came of it.
  [[nodiscard]] const std::string& steps() const { return steps_; }
  [[nodiscard]] const StepOverhead& overhead(Phase phase) const { return phase == Phase::forward ? forward_ : backward_; }
  [[nodiscard]] const StepOverhead& update_overhead() const { return update_; }
  [[nodiscard]] SecondsPerByte fresh_memory() const { return fresh_memory_; }
  [[nodiscard]] const MeasuredPrices& problems() const { return prices_; }
  /// The kernels of one rank's part of one layer, and what a whole step takes beside them.
  [[nodiscard]] const std::vector<PricedKernel>& kernels(const ShardContext& context, const LayerShard& shard) const {
    return priced(context, shard).kernels;
  }
  [[nodiscard]] const ShardWorkspace& workspace(const ShardContext& context, const LayerShard& shard) const {
    return priced(context, shard).workspace;
  }
  /// The optimizer's step on so many parameters; no time for none.
  [[nodiscard]] KernelPrice update(double parameters, Optimizer optimizer, Precision precision) const;
  /// One of a whole list, which takes nothing beside.
  [[nodiscard]] KernelPrice update(const UpdateProblem& list) const;
  /// The ranks of no split of this layer take less together, forward and backward.
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
  /// Of a kernel in fp32 where others run in 16 bits: as measured so; where nothing was, as the same in 16 bits times what
  /// the rooflines differ by.
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
