#pragma once

#include <array>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/quantity.hpp"
#include "estimator/step/explanation.hpp"

namespace ddl {

/// A part of an iteration as what the ranks are doing; forward and backward are one, since they grow and shrink together.
struct Doing {
  std::string_view name;  ///< as a key: `compute`
  Seconds time{};
};
[[nodiscard]] std::array<Doing, 9> components_of(const Breakdown& time);
/// The name of the doing that takes most longer after than before.
[[nodiscard]] std::string_view grown_most(const Breakdown& before, const Breakdown& after);

/// An item of memory.
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

/// One of two plans that are compared: how a sentence calls it, what it costs, and the model its limits are about.
struct Compared {
  std::string name;
  const Estimate& estimate;
  const Model& model;
};

/// A figure of one plan beside the same of another.
template <class Q>
struct PairedTerm {
  std::string_view name;
  Q explained{}, other{};
  [[nodiscard]] Q difference() const { return other - explained; }
};

/// How a plan is by itself: possible, of too much memory alone, or impossible in its shape.
enum class Standing { fits, too_full, impossible };

/// Whether two figures are as good as equal: they differ by less than half a percent of the larger one.
template <class Q>
[[nodiscard]] bool are_alike(Q a, Q b) {
  return std::abs((b - a).value()) < 0.005 * max(a, b).value();
}

/// What sets two plans apart, term by term. Swapping them turns the sign of every difference, and leaves the deciding term.
struct Comparison {
  std::string_view basis = "iteration";                   ///< or `epoch`: what times are of
  double explained_iterations = 1, other_iterations = 1;  ///< of each plan, in one of those
  Seconds explained_time{}, other_time{};                 ///< of each plan, one of those; zero without a price
  Standing explained_standing = Standing::fits, other_standing = Standing::fits;
  bool itself = false;                    ///< both are the same plan of the same name
  std::vector<PairedTerm<Seconds>> time;  ///< the parts of time_parts; empty where one of the two has no price
  std::vector<PairedTerm<Bytes>> memory;  ///< the parts of memory_parts; likewise
  /// The term with the largest difference in the direction of the whole: of the time where both fit, else of the memory
  /// where both have some. Nothing where they are alike, or where a limit of shape decides.
  std::optional<PairedTerm<Seconds>> deciding_time;
  std::optional<PairedTerm<Bytes>> deciding_memory;

  [[nodiscard]] bool both_fit() const { return explained_standing == Standing::fits && other_standing == Standing::fits; }
};

/// What the times of a comparison are of.
enum class Basis { iteration, epoch };

/// How `other` compares with `explained`, whichever is better, or possible at all. By epochs where that is asked for, or
/// where one iteration takes more samples than the other.
[[nodiscard]] Comparison compare(const Compared& explained, const Compared& other, Basis basis = Basis::iteration);

/// What a plan is called beside another: its strategy; its degrees where the other has the same strategy.
[[nodiscard]] std::string name_beside(const Plan& plan, const Plan& other);

/// Exchanges of one kind in both plans.
struct ExchangePair {
  ExchangeTotal explained, other;  ///< of the same operation, axes, phase and purpose; all zero where a plan has none
};
/// Of one iteration, or epoch, as the times of `comparison` are.
[[nodiscard]] std::vector<ExchangePair> paired_exchanges(const Explanation& explained, const Explanation& other,
                                                         const Comparison& comparison);

}  // namespace ddl
