#pragma once

#include <optional>
#include <vector>

#include "core/quantity.hpp"
#include "estimator/layers/job.hpp"
#include "estimator/layers/layer_costs.hpp"
#include "estimator/memory/memory.hpp"
#include "estimator/memory/verdict.hpp"
#include "estimator/out_of_core/chain.hpp"
#include "estimator/plan/plan.hpp"

namespace ddl {

/// The maximum number of layer groups with separate choices. In larger models, neighboring groups are merged.
inline constexpr std::size_t most_chain_groups = 64;

/// A plan in which each group of layers keeps, swaps or recomputes the activations that backward needs.
struct OutOfCore {
  Chain chain;
  std::vector<LayerRange> groups;
  std::vector<GroupChoice> choices;
  ChainCost in_core;  ///< cost of the chain if every group keeps its activations
  ChainCost cost;
  double micro_batches = 1;
  Bytes memory{}, upper_bound{};  ///< memory of the plan on the device, as in MemoryBreakdown
  Bytes device{};                 ///< memory of the device
  Bytes on_node{};                ///< host memory that all ranks of a node use for swapped activations
  std::optional<Bytes> of_host;   ///< host memory of a node; unset if the machine file describes no host

  /// Returns by how much a step is longer than if every group keeps its activations, in seconds.
  [[nodiscard]] Seconds longer() const { return (cost.time - in_core.time) * micro_batches; }
  [[nodiscard]] Verdict verdict() const {
    if (memory > device || (of_host && on_node > *of_host)) return Verdict::does_not_fit;
    return upper_bound > device ? Verdict::at_risk : Verdict::fits;
  }
  [[nodiscard]] bool fits() const { return verdict() == Verdict::fits; }
};

/// Returns whether the groups of layers of this plan can have different choices. This requires that
/// one stage has all layers, and that the plan neither offloads nor recomputes activations.
[[nodiscard]] bool may_be_out_of_core(const Plan& plan, const Assumptions& assumptions);

/// Returns the groups of layers of the model. Each block is a group. Outside of blocks, each layer
/// with weights forms a group with the layers that follow it up to the next group.
[[nodiscard]] std::vector<LayerRange> chain_groups(const ModelFacts& facts);

/// Returns the step of a plan as a chain of groups. `in_core` receives the cost if all groups keep their activations.
[[nodiscard]] Chain chain_of(const Job& job, const Plan& plan, const LayerCostTable& costs,
                             const std::vector<LayerRange>& groups);

/// Returns the fastest choices with which a plan fits the device. `memory`: the memory of the plan
/// if all groups keep their activations.
[[nodiscard]] OutOfCore out_of_core(const Job& job, const Plan& plan, const MemoryBreakdown& memory);

}  // namespace ddl
