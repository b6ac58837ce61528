#pragma once

#include <optional>
#include <vector>

#include "estimator/search/rank.hpp"
#include "estimator/search/search.hpp"
#include "estimator/step/estimate.hpp"

namespace ddl {

/// In a search that estimates every plan: the estimates of the plans that are to be shown first.
class FirstPlans {
 public:
  FirstPlans(const Estimator& estimator, const SearchOptions& options) : estimator_(estimator), options_(options) {}

  /// Takes a plan that may be among the first, while its layer costs are cached.
  void keep(const RankedPlan& feasible);
  /// Returns the requested number of first plans, ranked.
  [[nodiscard]] std::vector<Estimate> ranked_first();

 private:
  void leave_first();

  const Estimator& estimator_;
  const SearchOptions& options_;
  std::vector<Estimate> kept_;
  std::optional<RankedPlan> last_;  ///< the last of the requested plans, among the plans seen so far
};

}  // namespace ddl
