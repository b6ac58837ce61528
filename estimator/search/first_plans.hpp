#pragma once

#include <optional>
#include <vector>

#include "estimator/search/rank.hpp"
#include "estimator/search/search.hpp"
#include "estimator/step/estimate.hpp"

namespace ddl {

/// Of a search that prices every plan, the estimates of those that are wanted first.
class FirstPlans {
 public:
  FirstPlans(const Estimator& estimator, const SearchOptions& options) : estimator_(estimator), options_(options) {}

  /// Takes a plan that may be among the first, while its prices are at hand.
  void keep(const RankedPlan& feasible);
  /// Returns the first that are wanted, ranked.
  [[nodiscard]] std::vector<Estimate> ranked_first();

 private:
  void leave_first();

  const Estimator& estimator_;
  const SearchOptions& options_;
  std::vector<Estimate> kept_;
  std::optional<RankedPlan> last_;  ///< of those that are wanted, as far as is known
};

}  // namespace ddl
