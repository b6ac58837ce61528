#pragma once

#include <array>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/quantity.hpp"
#include "estimator/explain/explanation.hpp"

namespace ddl {

/// A part of a step, named by the activity of the ranks. Forward and backward are one part, because they grow and shrink
/// together.
struct Doing {
  std::string_view name;  ///< as a key: `compute`
  Seconds time{};
};
[[nodiscard]] std::array<Doing, 9> components_of(const Breakdown& time);
/// Returns the name of the part whose time grows most from `before` to `after`.
[[nodiscard]] std::string_view grown_most(const Breakdown& before, const Breakdown& after);

struct MemoryPart {
  Bytes MemoryBreakdown::*part = nullptr;
  std::string_view name;  ///< as a key and in a sentence: `activations`
};
inline constexpr std::array<MemoryPart, memory_item_count> memory_parts{{{&MemoryBreakdown::weights, "weights"},
                                                                         {&MemoryBreakdown::gradients, "gradients"},
                                                                         {&MemoryBreakdown::optimizer, "optimizer"},
                                                                         {&MemoryBreakdown::activations, "activations"},
                                                                         {&MemoryBreakdown::input, "input"},
                                                                         {&MemoryBreakdown::workspace, "workspace"},
                                                                         {&MemoryBreakdown::communication, "communication"},
                                                                         {&MemoryBreakdown::context, "context"}}};

/// One of two plans that are compared: its name in sentences, its estimate, and the model for messages about its limits.
struct Compared {
  std::string name;
  const Estimate& estimate;
  const Model& model;
};

/// The same figure of two plans.
template <class Q>
struct PairedTerm {
  std::string_view name;
  Q explained{}, other{};
  [[nodiscard]] Q difference() const { return other - explained; }
};

/// The state of one plan: it fits, it needs too much memory, or its shape is impossible.
enum class Standing { fits, too_full, impossible };

/// Returns whether two figures differ by less than half a percent of the larger one.
template <class Q>
[[nodiscard]] bool are_alike(Q a, Q b) {
  return std::abs((b - a).value()) < 0.005 * max(a, b).value();
}

/// The differences between two plans, term by term. If the plans are swapped, every difference changes its sign, and the
/// deciding term stays the same.
struct Comparison {
  std::string_view basis = "step";              ///< or `epoch`: the unit that times refer to
  double explained_steps = 1, other_steps = 1;  ///< number of steps of each plan in this unit
  Seconds explained_time{}, other_time{};       ///< predicted time of each plan, for that unit; zero if unknown
  Standing explained_standing = Standing::fits, other_standing = Standing::fits;
  bool itself = false;                    ///< both are the same plan with the same name
  std::vector<PairedTerm<Seconds>> time;  ///< the parts of time_parts; empty if one of the two has no predicted time
  std::vector<PairedTerm<Bytes>> memory;  ///< the parts of memory_parts; empty if one of the two has no predicted memory
  /// The term that differs most, among the terms that differ in the same direction as the total. It is a term of the time if
  /// both plans fit, and else of the memory, if it is known for both. Unset if the plans do not differ, or if the shape of
  /// one is impossible.
  std::optional<PairedTerm<Seconds>> deciding_time;
  std::optional<PairedTerm<Bytes>> deciding_memory;

  [[nodiscard]] bool both_fit() const { return explained_standing == Standing::fits && other_standing == Standing::fits; }
};

/// The unit that the times of a comparison refer to.
enum class Basis { step, epoch };

/// Compares `other` with `explained`; either may be better, and either may be impossible. It compares epochs if `basis` says
/// so, or if the steps have different numbers of samples; else it compares steps.
[[nodiscard]] Comparison compare(const Compared& explained, const Compared& other, Basis basis = Basis::step);

/// Returns the name of a plan for a comparison with another one: its strategy, or its degrees if the other plan has the same
/// strategy.
[[nodiscard]] std::string name_against(const Plan& plan, const Plan& other);

/// The exchanges of one kind in both plans.
struct ExchangePair {
  ExchangeTotal explained, other;  ///< totals of this operation, axes, phase and purpose; zero if a plan has none
};
/// Returns the exchanges of both plans in pairs, per step or per epoch, as in `comparison`.
[[nodiscard]] std::vector<ExchangePair> paired_exchanges(const Explanation& explained, const Explanation& other,
                                                         const Comparison& comparison);

}  // namespace ddl
