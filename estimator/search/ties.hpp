#pragma once

#include <cstddef>
#include <vector>

#include "estimator/search/search.hpp"
#include "estimator/search/variants.hpp"
#include "estimator/step/estimate.hpp"

namespace ddl {

/// Puts simple plans before others that are hardly faster (SearchOptions::tie).
class Ties {
 public:
  Ties(const Estimator& estimator, const SearchOptions& options, const VariantSpace& space)
      : estimator_(estimator), options_(options), space_(space) {}

  /// Puts the simplest plan first where several tie with the fastest of those that are left: each place takes the simplest
  /// variant of a family, and of the families the one that divides along the fewest axes. `best` is ranked.
  void settle(std::vector<Estimate>& best, std::size_t places) const;

 private:
  /// The simplest plan with the same degrees that takes no longer than the tie allows, and needs no more than fits.
  [[nodiscard]] Estimate simplified(const Estimate& best) const;
  /// Puts the first plan of a family with measured runs before a faster plan of a family without, if it is the surer one.
  void prefer_known(std::vector<Estimate>& best) const;
  /// Whether the plan that is predicted to be slower may be the faster one, and takes no longer than the other one if both
  /// are as slow as predictions err.
  [[nodiscard]] bool is_surer(const Estimate& slower, const Estimate& faster) const;

  const Estimator& estimator_;
  const SearchOptions& options_;
  const VariantSpace& space_;
};

}  // namespace ddl
