#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "estimator/search/search.hpp"
#include "estimator/search/variants.hpp"
#include "estimator/step/estimate.hpp"

namespace ddl {

/// The fewest tokens of a sample of a measured run with a context split (calibration/observations/published-runs.csv).
inline constexpr std::int64_t least_measured_context = 4096;

/// Returns whether a plan splits contexts of samples with fewer tokens than least_measured_context.
[[nodiscard]] bool splits_short_contexts(const ModelFacts& facts, const Plan& plan);

/// Ranks simple plans before other plans that are hardly faster (SearchOptions::tie).
class Ties {
 public:
  Ties(const Estimator& estimator, const SearchOptions& options, const VariantSpace& space)
      : estimator_(estimator), options_(options), space_(space) {}

  /// For each place of the ranking, takes the simplest of the plans that tie with the fastest remaining plan. It is the
  /// simplest variant of the family with the fewest axes. Of families with one axis, data parallelism comes first. Plans
  /// that some tool starts come before others, unless they split short contexts (splits_short_contexts). `best` must be
  /// ranked.
  void settle(std::vector<Estimate>& best, std::size_t places) const;

 private:
  /// Returns the simplest plan with the same degrees that fits, and whose time ties with the time of `best`. `as_reserved`:
  /// whether plans have to fit with the memory that the allocator reserves.
  [[nodiscard]] Estimate simplified(const Estimate& best, bool as_reserved = false) const;
  /// Returns the fastest plan with the same degrees that needs less memory than `large`, because it has more micro-batches
  /// or recomputes more, and that fits with the memory that the allocator reserves. Empty if there is none.
  [[nodiscard]] std::optional<Estimate> smaller(const Estimate& large) const;
  /// Adds the memory that the allocator reserves to an estimate, and returns the verdict of the result.
  [[nodiscard]] Verdict verdict_as_reserved(Estimate& estimate) const;
  /// Ranks the first plan that fits with the memory that the allocator reserves before all others: a plan of `best`, or a
  /// smaller plan of the first family. `fastest`: the fastest plan of each family. The search does not model the allocator,
  /// which takes long.
  void prefer_safe(const std::map<Family, Estimate>& fastest, std::vector<Estimate>& best) const;
  /// Ranks the first plan of a family with measured runs before a faster plan of a family without
  /// measured runs, if the time of the first plan is more certain.
  void prefer_known(std::vector<Estimate>& best) const;
  /// Returns whether `slower`, which has the longer predicted time, may be the faster plan, and its interval ends no higher
  /// than the interval of `faster`.
  [[nodiscard]] bool is_surer(const Estimate& slower, const Estimate& faster) const;

  const Estimator& estimator_;
  const SearchOptions& options_;
  const VariantSpace& space_;
};

}  // namespace ddl
