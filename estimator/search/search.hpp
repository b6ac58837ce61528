#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "estimator/choices/plan_choice.hpp"
#include "estimator/inputs/time_errors.hpp"
#include "estimator/step/estimate.hpp"

namespace ddl {

/// Two laboratories that time the same kernels differ by 2.4 to 6.7 % (median; docs/recommend.md): plans whose predicted
/// times are this near are equally good.
inline constexpr double usual_tie = 0.03;

enum class Objective { time, cost, memory };
[[nodiscard]] std::optional<Objective> parse_objective(std::string_view text);
[[nodiscard]] std::string_view to_string(Objective objective);

/// The question of a search, and the choices that the user has already made.
struct SearchOptions {
  std::int64_t devices = 1;
  std::int64_t global_batch = 1;
  Precision precision = Precision::fp32;
  Optimizer optimizer = Optimizer::sgd;
  Objective objective = Objective::time;
  std::vector<NamedFamily> families;  ///< empty: all
  /// The number of families to return, best first. Families that provably come later are not priced. 0 returns all of them.
  std::int64_t top = 0;
  bool all = false;  ///< price every plan, prune none
  std::optional<Placement> placement;
  std::optional<std::int64_t> micro_batches;
  ChosenOfPlan chosen;
  /// What the software can run, of the choices that are still open.
  AdmittedChoices admitted{};
  /// Rank plans by the objective alone. Else those that fit come before those that are at risk.
  bool allow_risk = false;
  /// Plans whose times differ by less than this share of the shorter one are as good as each other: the simplest of them is
  /// the better one. Only where the objective is not memory, and not every plan is priced.
  double tie = 0;
  /// How wrong predictions are. A plan of a family with measured runs then comes first in place of a faster plan of a family
  /// without, if it may be the faster one and the slow end of its interval is no later: of many plans that are known badly,
  /// one seems fast by chance. Nothing: the order is that of the predictions. Only where `tie` counts, too.
  const TimeErrors* errors = nullptr;
  /// Whether choices that use the memory of the host are open. If not, they are opened where no plan fits without them.
  bool offloads = false;
  /// The search calls it from time to time with the number of plans that are done, and the number of all plans. The
  /// search ends if it returns false.
  std::function<bool(std::int64_t done, std::int64_t all)> go_on;
};

/// A feasible plan with the time and memory that it is ranked by. The plan is priced again if the caller needs its estimate.
struct RankedPlan {
  Plan plan;
  Seconds iteration{};
  Bytes memory{};
  Verdict verdict = Verdict::fits;
};

/// How many plans came to which end.
struct SearchCounts {
  std::int64_t considered = 0;  ///< plans whose fate is known: priced, ruled out by a limit, or pruned
  std::int64_t pruned = 0;      ///< of those, given up as a better one is known, by a bound or by the time alone
  std::int64_t priced = 0;      ///< of those, priced in full: time and memory
  std::int64_t feasible = 0;    ///< of those priced
};

struct SearchResult : SearchCounts {
  std::vector<Estimate> best;      ///< the best feasible plan of each family, ranked
  std::vector<Estimate> rejected;  ///< of each family without one, the plan that misses by least, with its limits
  std::vector<Family> behind;      ///< families not priced: all their plans are beaten by `top` others
  std::vector<RankedPlan> ranked;  ///< with `all`: every feasible plan, ranked
  std::vector<Estimate> first;     ///< with `all`: the first `top` of these
  bool stopped = false;            ///< before all plans were looked at
};

/// Searches all plans: all ways of giving `devices` devices to the axes (all divisors), all placements, numbers of
/// micro-batches and other choices (plan_choices). A pruned plan is provably no better than the plans that are returned.
/// Plans that are equally good within rounding, or the `tie` that was asked for, are ranked by simplicity: fewer axes, no
/// recomputation, less sharding, fewer micro-batches.
[[nodiscard]] SearchResult search(const Estimator& estimator, const SearchOptions& options);

}  // namespace ddl
