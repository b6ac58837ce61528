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
  /// Puts a plan first of whose family runs have taught, where the first one's family is none of these and the two cannot be
  /// told apart.
  void prefer_taught(std::vector<Estimate>& best) const;

  const Estimator& estimator_;
  const SearchOptions& options_;
  const VariantSpace& space_;
};

}  // namespace ddl
