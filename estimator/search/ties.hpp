#pragma once

#include <cstddef>
#include <vector>

#include "estimator/search/search.hpp"
#include "estimator/search/variants.hpp"
#include "estimator/step/estimate.hpp"

namespace ddl {

/// Ranks simple plans before others that are hardly faster (SearchOptions::tie).
class Ties {
 public:
  Ties(const Estimator& estimator, const SearchOptions& options, const VariantSpace& space)
      : estimator_(estimator), options_(options), space_(space) {}

  /// For each place, considers the plans that tie with the fastest remaining one, and puts the simplest first: the simplest
  /// variant of each family, and among families the one that divides along the fewest axes. `best` must be ranked.
  void settle(std::vector<Estimate>& best, std::size_t places) const;

 private:
  /// The simplest plan with the same degrees whose time ties with this plan and whose memory fits.
  [[nodiscard]] Estimate simplified(const Estimate& best) const;
  /// Ranks the first plan of a family with measured runs before a faster plan of a family without, if its time is more
  /// certain.
  void prefer_known(std::vector<Estimate>& best) const;
  /// Whether the plan that is predicted to be slower may be the faster one, and is not slower than the other one at the
  /// upper ends of both intervals.
  [[nodiscard]] bool is_surer(const Estimate& slower, const Estimate& faster) const;

  const Estimator& estimator_;
  const SearchOptions& options_;
  const VariantSpace& space_;
};

}  // namespace ddl
