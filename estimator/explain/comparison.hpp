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

/// A part of a step, named by the activity of the ranks. Forward and backward are one part, because
/// one does not grow without the other.
struct Doing {
  std::string_view name;  ///< name of the part as a key: `compute`
  Seconds time{};
};
[[nodiscard]] std::array<Doing, 9> components_of(const Breakdown& time);
/// Returns the name of the part whose time grows most from `before` to `after`.
[[nodiscard]] std::string_view grown_most(const Breakdown& before, const Breakdown& after);

struct MemoryPart {
  Bytes MemoryBreakdown::*part = nullptr;
  std::string_view name;  ///< name of the part as a key and in a sentence: `activations`
};
inline constexpr std::array<MemoryPart, memory_item_count> memory_parts{{{&MemoryBreakdown::weights, "weights"},
                                                                         {&MemoryBreakdown::gradients, "gradients"},
                                                                         {&MemoryBreakdown::optimizer, "optimizer"},
                                                                         {&MemoryBreakdown::activations, "activations"},
                                                                         {&MemoryBreakdown::input, "input"},
                                                                         {&MemoryBreakdown::workspace, "workspace"},
                                                                         {&MemoryBreakdown::communication, "communication"},
                                                                         {&MemoryBreakdown::context, "context"}}};

/// One of two compared plans: its name in sentences, its estimate, and the model that messages about its limits name.
struct Compared {
  std::string name;
  const Estimate& estimate;
  const Model& model;
};

/// One figure, such as the step time, of each of two plans.
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
  std::string_view basis = "step";              ///< the unit that times refer to: `step` or `epoch`
  double explained_steps = 1, other_steps = 1;  ///< number of steps per `basis`, for each plan
  Seconds explained_time{}, other_time{};       ///< predicted time of each plan per `basis`; zero if unknown
  Standing explained_standing = Standing::fits, other_standing = Standing::fits;
  bool itself = false;                    ///< whether both plans are the same plan with the same name
  std::vector<PairedTerm<Seconds>> time;  ///< one term for each of time_parts; empty if a plan has no predicted time
  std::vector<PairedTerm<Bytes>> memory;  ///< one term for each of memory_parts; empty if a plan has no predicted memory
  /// The term that differs most, among the terms that differ in the same direction as the total. If both plans fit, this
  /// term is a part of the time. Otherwise it is an item of the memory, if the memory of both plans is known. Unset if the
  /// plans do not differ, or if the shape of a plan is impossible.
  std::optional<PairedTerm<Seconds>> deciding_time;
  std::optional<PairedTerm<Bytes>> deciding_memory;

  [[nodiscard]] bool both_fit() const { return explained_standing == Standing::fits && other_standing == Standing::fits; }
};

/// The unit that the times of a comparison refer to.
enum class Basis { step, epoch };

/// Compares `other` with `explained`. Either plan may be better, and either plan may be impossible. Compares epochs if
/// `basis` is `epoch`, or if the plans' steps have different numbers of samples; otherwise compares steps.
[[nodiscard]] Comparison compare(const Compared& explained, const Compared& other, Basis basis = Basis::step);

/// Returns the name of a plan for a comparison with another plan: its strategy, or its degrees if
/// both plans have the same strategy.
[[nodiscard]] std::string name_against(const Plan& plan, const Plan& other);

/// The exchanges of both plans with one operation, axes, phase and purpose.
struct ExchangePair {
  ExchangeTotal explained, other;  ///< totals of each plan; zero for a plan without such an exchange
};
/// Returns the exchanges of both plans in pairs, per step or per epoch like the times of `comparison`.
[[nodiscard]] std::vector<ExchangePair> paired_exchanges(const Explanation& explained, const Explanation& other,
                                                         const Comparison& comparison);

}  // namespace ddl
