#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <tuple>
#include <vector>

#include "estimator/layers/job.hpp"
#include "estimator/layers/layer_costs.hpp"
#include "estimator/layers/pipeline.hpp"
#include "estimator/plan/plan.hpp"

namespace ddl {

/// The costs of layers under the latest splits of one job, which plans share that divide layers alike (split_of). Several
/// threads must not use it at once.
class SplitTables {
 public:
  /// The job has to outlive the tables.
  explicit SplitTables(const Job& job) : job_(job) {}
  SplitTables(const SplitTables&) = delete;  // tables of costs refer to kinds of layers
  SplitTables& operator=(const SplitTables&) = delete;

  /// The number of splits whose costs are kept: a search goes back and forth between the ways in which plans of a mesh
  /// divide layers.
  static constexpr std::size_t kept = 8;

  struct Split {
    std::size_t slot = 0;       ///< below `kept`
    std::uint64_t number = 0;   ///< another number in the same slot is another split
    std::uint64_t placing = 0;  ///< another number is another split or another placement
    Plan plan;                  ///< without what the costs do not depend on
    Placement placement{};
    std::unique_ptr<LayerCostTable> costs;
    std::uint64_t asked = 0;  ///< when it was last asked for
  };
  /// Returns the split of a plan whose shape is possible, with its placement. The reference is valid until the next call
  /// with another plan.
  [[nodiscard]] const Split& split(const Plan& plan) const;
  [[nodiscard]] const LayerCostTable& costs(const Plan& plan) const { return *split(plan).costs; }

  /// The costs of layers with their slopes, and of each kind of layer in detail: what the sensitivities of plans have in
  /// common that differ in their other choices.
  struct SlopeTable {
    SlopeTable(const Job& job, const Plan& a_split, const Plan& plan, const LayerKinds& kinds)
        : split(a_split), costs(job, plan, kinds, true) {}
    Plan split;
    std::optional<Placement> placement{};  ///< of which the costs are
    LayerCostTable costs;
    std::vector<LayerPrices> prices{};  ///< by kind
  };
  [[nodiscard]] const SlopeTable& slope_table(const Plan& plan) const;
  /// Returns the costs of the layers of a plan with their slopes, which nothing keeps.
  [[nodiscard]] LayerCostTable costs_with_slopes(const Plan& plan) const;

  /// Returns the exchanges under the placement of a plan, for plans of its degrees.
  [[nodiscard]] const ExchangePrices& exchanges(const Plan& plan) const;
  [[nodiscard]] ReplicatedLayers replicated_layers_of(const Plan& plan) const;
  [[nodiscard]] const LayerKinds& kinds_of(const ReplicatedLayers& replicated) const;
  [[nodiscard]] const StagePlaces& places(int stages, const ReplicatedLayers& replicated, double tiles) const;
  [[nodiscard]] const StagePlaces& places_of(const Plan& plan) const;

  [[nodiscard]] const Job& job() const { return job_; }

 private:
  const Job& job_;
  mutable std::array<Split, kept> splits_;
  mutable std::uint64_t asked_ = 0, numbers_ = 0;
  mutable std::unique_ptr<SlopeTable> slope_table_;  ///< the latest
  mutable std::map<std::tuple<int, ReplicatedLayers, double>, StagePlaces> places_;
  mutable std::map<Tiles, ReplicatedLayers> replicated_layers_;
  mutable std::map<ReplicatedLayers, LayerKinds> kinds_;  ///< by what a spatial split leaves whole
  /// Exchanges of one plan's degrees under each placement asked for: they do not depend on anything else of the plan.
  struct Placed {
    Placed(const Plan& a_split, const Plan& a_plan, const Job& job)
        : split(a_split), plan(a_plan), exchanges(plan, job.machine, job.coefficients, job.assumptions) {}
    Plan split;  ///< without its batch
    Plan plan;
    ExchangePrices exchanges;
  };
  mutable std::vector<std::unique_ptr<Placed>> placed_;
};

/// A value for each split of the tables, empty until it is worked out, and again for another split in the same slot.
template <class Value>
class PerSplit {
 public:
  /// `number`: Split::number, or Split::placing if the value depends on the placement.
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

/// Returns a plan of one sample and one micro-batch.
[[nodiscard]] Plan without_batch(Plan plan);

}  // namespace ddl
