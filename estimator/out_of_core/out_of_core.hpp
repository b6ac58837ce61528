#pragma once

#include <optional>
#include <vector>

#include "core/quantity.hpp"
#include "estimator/layers/job.hpp"
#include "estimator/layers/layer_costs.hpp"
#include "estimator/memory/memory.hpp"
#include "estimator/out_of_core/chain.hpp"
#include "estimator/plan/plan.hpp"

namespace ddl {

/// The most groups of layers that have a choice of their own; of more, neighbours are joined.
inline constexpr std::size_t most_chain_groups = 64;

/// A plan whose groups of layers keep, move or compute again what backward needs.
struct OutOfCore {
  Chain chain;
  std::vector<LayerRange> groups;
  std::vector<GroupChoice> choices;
  ChainCost in_core;  ///< if every group keeps what backward needs
  ChainCost cost;
  double micro_batches = 1;
  Bytes memory{}, upper_bound{};  ///< of the whole device, as MemoryBreakdown has them
  Bytes device{};                 ///< what the device has
  Bytes on_node{};                ///< what all ranks of a node keep in its memory
  std::optional<Bytes> of_host;   ///< what a node has for them, if the machine says so

  /// Returns by how much an iteration is longer than in core.
  [[nodiscard]] Seconds longer() const { return (cost.time - in_core.time) * micro_batches; }
  [[nodiscard]] bool fits() const { return upper_bound <= device && (!of_host || on_node <= *of_host); }
};

/// Returns whether layers of this plan have such a choice: one stage has all of them, and nothing else moves activations or
/// computes them again.
[[nodiscard]] bool may_be_out_of_core(const Plan& plan, const Assumptions& assumptions);

/// Returns the groups of the model: its blocks, and of what is in none, a layer with weights and those behind it.
[[nodiscard]] std::vector<LayerRange> chain_groups(const ModelFacts& facts);

/// Returns the step of a plan as a chain of groups, which `in_core` is the cost of if all keep.
[[nodiscard]] Chain chain_of(const Job& job, const Plan& plan, const LayerCostTable& costs,
                             const std::vector<LayerRange>& groups);

/// Returns the choices of least time with which a plan fits the device. `memory`: of the plan in core.
[[nodiscard]] OutOfCore out_of_core(const Job& job, const Plan& plan, const MemoryBreakdown& memory);

}  // namespace ddl
