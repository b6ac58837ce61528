#pragma once

#include <optional>
#include <vector>

#include "estimator/search/rank.hpp"
#include "estimator/search/search.hpp"
#include "estimator/step/estimate.hpp"

namespace ddl {

/// Keeps the estimates of the plans that are shown first, in a search that estimates every plan.
class FirstPlans {
 public:
  FirstPlans(const Estimator& estimator, const SearchOptions& options) : estimator_(estimator), options_(options) {}

  /// Adds a plan that may be among the first, while the plan's layer costs are cached.
  void keep(const RankedPlan& feasible);
  /// Returns the requested number of first plans, ranked.
  [[nodiscard]] std::vector<Estimate> ranked_first();

 private:
  void leave_first();

  const Estimator& estimator_;
  const SearchOptions& options_;
  std::vector<Estimate> kept_;
  std::optional<RankedPlan> last_;  ///< the plan in the last requested place, among the plans seen so far
};

}  // namespace ddl
