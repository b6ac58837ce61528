#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "estimator/layers/job.hpp"
#include "estimator/layers/layer_costs.hpp"
#include "estimator/layers/stage_balance.hpp"
#include "estimator/plan/plan.hpp"

namespace ddl {

/// Caches the costs of layers under the latest splits of one job. Plans that divide layers in the
/// same way (split_of) share costs. Not thread-safe.
class SplitTables {
 public:
  /// The job must outlive the tables.
  explicit SplitTables(const Job& job) : job_(job) {}
  SplitTables(const SplitTables&) = delete;  // the cost tables refer to kinds_
  SplitTables& operator=(const SplitTables&) = delete;

  /// The number of splits with cached costs. A search alternates between several splits of the plans of a mesh.
  static constexpr std::size_t kept = 8;

  struct Split {
    std::size_t slot = 0;       ///< index of the slot, below `kept`
    std::uint64_t number = 0;   ///< changes whenever another split takes the slot
    std::uint64_t placing = 0;  ///< changes whenever the split or the placement changes
    Plan plan;                  ///< the plan; choices that do not affect costs are reset
    Placement placement{};
    std::unique_ptr<LayerCostTable> costs;
    std::uint64_t asked = 0;  ///< time at which the split was last requested
  };
  /// Returns the split of a plan with its placement. The plan's shape must be possible. The
  /// reference is valid until the next call with a different plan.
  [[nodiscard]] const Split& split(const Plan& plan) const;
  [[nodiscard]] const LayerCostTable& costs(const Plan& plan) const { return *split(plan).costs; }

  /// The costs of layers with their slopes, and the details of each kind of layer. Plans that
  /// divide layers in the same way share these costs for their sensitivities.
  struct SlopeTable {
    SlopeTable(const Job& job, const Plan& a_split, const Plan& plan, const LayerKinds& kinds)
        : split(a_split), costs(job, plan, kinds, true) {}
    Plan split;
    std::optional<Placement> placement{};  ///< placement that the costs refer to
    LayerCostTable costs;
    std::vector<LayerDetail> details{};  ///< details of each kind of layer
  };
  [[nodiscard]] const SlopeTable& slope_table(const Plan& plan) const;
  /// Returns the costs of the layers of a plan with their slopes. The result is not cached.
  [[nodiscard]] LayerCostTable costs_with_slopes(const Plan& plan) const;

  /// The kernels of one rank for one micro-batch. Plans that differ only in replicas, stages and placement share them.
  struct Kernels {
    std::vector<KernelCosts> of_kinds;  ///< by kind of layer
    Seconds all{};                      ///< forward and backward of all layers
  };
  /// Returns the kernels of a plan. Null if its kernels depend on replicas, or on factors that are fitted to measured runs.
  [[nodiscard]] const Kernels* kernels(const Plan& plan) const;

  /// Returns the exchanges for the degrees of a plan, under the plan's placement.
  [[nodiscard]] const ExchangeTimes& exchanges(const Plan& plan) const;
  [[nodiscard]] ReplicatedLayers replicated_layers_of(const Plan& plan) const;
  [[nodiscard]] const LayerKinds& kinds_of(const ReplicatedLayers& replicated) const;
  [[nodiscard]] const LayerKinds& kinds_of(const Plan& plan) const;
  [[nodiscard]] const StagePlaces& places(int stages, const ReplicatedLayers& replicated, double tiles) const;
  [[nodiscard]] const StagePlaces& places_of(const Plan& plan) const;

  [[nodiscard]] const Job& job() const { return job_; }

 private:
  /// The number of splits with cached kernels.
  static constexpr std::size_t kept_kernels = 1U << 14U;
  /// The degrees except replicas and stages, the number of samples, the precision, and the choices that divide layers.
  using KernelKey = std::tuple<Mesh, double, Precision, bool, ContextExchange, bool>;
  const Job& job_;
  mutable KnownTimes known_times_;  ///< used by the tables and exchanges below
  mutable std::array<Split, kept> splits_;
  mutable Plan latest_;  ///< the latest plan whose split was requested
  mutable const Split* of_latest_ = nullptr;
  mutable std::uint64_t asked_ = 0, numbers_ = 0;
  mutable std::unique_ptr<SlopeTable> slope_table_;  ///< the most recently used table of slopes
  mutable std::map<std::tuple<int, ReplicatedLayers, double>, StagePlaces> places_;
  mutable std::map<Tiles, ReplicatedLayers> replicated_layers_;
  /// The kinds of layers, and the kernels of splits with these kinds.
  struct OfKinds {
    LayerKinds kinds;
    std::map<KernelKey, Kernels> kernels{};
  };
  [[nodiscard]] OfKinds& of_kinds(const ReplicatedLayers& replicated) const;
  mutable std::map<ReplicatedLayers, OfKinds> kinds_;  ///< keyed by the layers that a spatial split leaves unsplit
  /// keyed by the mesh of the first layers, by the segments, and by sequence parallelism
  mutable std::map<std::tuple<Mesh, std::vector<LayerSegment>, bool>, LayerKinds> segment_kinds_;
  /// keyed by the tiles, and by the way of the first tables and of the segments of tables
  mutable std::map<std::tuple<Tiles, Tables, std::vector<TableSegment>>, LayerKinds> table_kinds_;
  /// The exchanges for one plan's degrees, under each requested placement. Other choices of the
  /// plan do not affect exchanges.
  struct Placed {
    Placed(const Plan& a_plan, const Job& job, KnownTimes& known)
        : plan(a_plan), exchanges(plan, job.machine, job.coefficients, job.assumptions, &known) {}
    Plan plan;
    ExchangeTimes exchanges;
  };
  mutable std::vector<std::unique_ptr<Placed>> placed_;
};

/// Caches a value for each split of the tables. A value is empty until it is computed, and again
/// after another split has taken the slot.
template <class Value>
class PerSplit {
 public:
  /// Returns the value of a slot. `number`: Split::number, or Split::placing if the value depends on the placement.
  [[nodiscard]] Value& of(std::size_t slot, std::uint64_t number) {
    auto& [known, value] = values_[slot];
    if (known != number) {
      value = Value();
      known = number;
    }
    return value;
  }

 private:
  struct Numbered {
    std::uint64_t number = 0;
    Value value;
  };
  std::array<Numbered, SplitTables::kept> values_;
};

/// Returns a copy of the plan with one sample and one micro-batch.
[[nodiscard]] Plan without_batch(Plan plan);

}  // namespace ddl
