#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "core/enum_array.hpp"
#include "estimator/choices/plan_choice.hpp"
#include "estimator/inputs/time_errors.hpp"
#include "estimator/search/search_bounds.hpp"
#include "estimator/step/estimate.hpp"

namespace ddl {

/// If predicted times differ by less than this share, plans are treated as equally good. Two
/// laboratories that time the same kernels differ by 2.4 to 6.7 % (median; docs/recommend.md).
inline constexpr double usual_tie = 0.03;

enum class Objective { time, cost, memory, energy };
template <>
inline constexpr EnumNames<Objective> enum_names<Objective>{"time", "cost", "memory", "energy"};

struct RankedPlan;

/// The settings of a search, and the choices that the user has already made.
struct SearchOptions {
  std::int64_t devices = 1;
  std::int64_t global_batch = 1;
  Precision precision = Precision::fp32;
  Optimizer optimizer = Optimizer::sgd;
  Objective objective = Objective::time;
  std::vector<NamedFamily> families;  ///< families to search; empty: all families
  /// The number of families to return, best first; 0: all families. Families that provably rank lower are not estimated.
  std::int64_t top = 0;
  bool all = false;  ///< whether to estimate every plan, and prune none
  /// Whether the degrees of a mesh are searched; empty: all degrees are.
  std::function<bool(const Mesh& mesh)> admits;
  std::optional<Placement> placement;
  std::optional<std::int64_t> micro_batches;
  ChosenOfPlan chosen;
  /// The values that the software supports, for choices that the user has not made.
  AdmittedChoices admitted{};
  /// Whether plans are ranked by the objective alone. Otherwise plans that fit rank before plans at risk.
  bool allow_risk = false;
  /// The time difference, as a share of the shorter time, below which plans tie. Among tied plans, the simplest plan ranks
  /// first, and plans that can be started before others. Ignored if the objective is memory, or if every plan is estimated.
  double tie = 0;
  /// The error of predictions; null: plans are ordered by their predicted times. With it, a plan of a family with measured
  /// runs ranks before a faster plan of a family without measured runs, if the intervals of both times overlap and the upper
  /// end of the first plan's interval is not higher. The reason: of many plans with uncertain times, some seem fast by
  /// chance. Ignored unless `tie` is used, too.
  const TimeErrors* errors = nullptr;
  /// Whether some tool starts a plan. Among tied plans, such plans rank before others. Ignored unless `tie` is used, too.
  std::function<bool(const Estimate& estimate)> is_startable;
  /// Whether the most nearly feasible plan of each family without a feasible plan is searched (SearchResult::rejected).
  bool finds_nearest = true;
  bool only_startable = false;  ///< whether only plans that is_startable accepts are searched
  /// Whether choices that use host memory are always searched. Otherwise these choices are searched if no plan fits without
  /// them, or if each plan that may fit is at risk. With `tie`, strategies of one axis are also searched with the optimizer
  /// in host memory if the best plan recomputes or has several micro-batches. Such a plan ranks first if it is faster by
  /// more than the error of predictions, or if only it can be started.
  bool offloads = false;
  BoundsLeftOut left_out{};  ///< for benchmarks
  /// A function that the search calls from time to time with the number of finished plans and the
  /// number of all plans. If the function returns false, the search ends.
  std::function<bool(std::int64_t done, std::int64_t all)> go_on;
  /// The search calls this with each plan that ranks before all plans so far.
  std::function<void(const RankedPlan& best)> on_better;
};

/// A feasible plan with the time and memory by which it is ranked. For the whole estimate, a caller
/// has to estimate the plan again.
struct RankedPlan {
  Plan plan;
  Seconds step_time{};
  Bytes memory{};
  Verdict verdict = Verdict::fits;
};

/// Numbers of plans by outcome.
struct SearchCounts {
  std::int64_t considered = 0;  ///< plans with a known outcome: estimated, excluded by a limit, or pruned
  std::int64_t pruned = 0;      ///< plans skipped because a bound or the step time shows that a better plan is known
  std::int64_t timed = 0;       ///< plans whose step was predicted, because no bound excluded them
  std::int64_t estimated = 0;   ///< plans that were estimated fully, with time and memory
  std::int64_t feasible = 0;    ///< plans that are feasible, among the estimated plans
};

struct SearchResult : SearchCounts {
  std::vector<Estimate> best;       ///< the best feasible plan of each family, ranked
  std::optional<Estimate> fastest;  ///< the fastest plan of the first plan's family, if a simpler plan that ties replaced it
  std::vector<Estimate> rejected;   ///< for each family without a feasible plan: the most nearly feasible one, with limits
  std::vector<Family> behind;       ///< families that were not estimated, because `top` other families beat all their plans
  std::vector<RankedPlan> ranked;   ///< with `all`, every feasible plan, ranked
  std::vector<Estimate> first;      ///< with `all`, the estimates of the first `top` plans
  bool stopped = false;             ///< whether the search was stopped before all plans were examined
  /// If the search was stopped: a lower bound of the step times of all plans that were not examined, in seconds. Zero if
  /// no bound is known.
  Seconds least_left{};
};

/// Searches all plans: all ways of distributing `devices` devices over the axes (all divisors), all
/// placements, numbers of micro-batches and other choices (plan_choices). No pruned plan is better
/// than the plans that are returned. Plans that tie, within rounding or within the requested `tie`,
/// are ranked by simplicity: fewer axes, no recomputation, less sharding, fewer micro-batches.
[[nodiscard]] SearchResult search(const Estimator& estimator, const SearchOptions& options);

}  // namespace ddl
