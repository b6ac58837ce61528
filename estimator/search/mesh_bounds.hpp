#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "core/quantity.hpp"
#include "estimator/plan/plan.hpp"
#include "estimator/search/degrees.hpp"
#include "estimator/search/latest_values.hpp"
#include "estimator/search/search_bounds.hpp"
#include "estimator/search/time_bounds.hpp"
#include "estimator/search/variants.hpp"
#include "estimator/step/estimate.hpp"

namespace ddl {

/// Lower bounds of the time of all plans with the same degrees.
class MeshBounds {
 public:
  MeshBounds(const Estimator& estimator, const TimeBounds& bounds, const VariantSpace& space, std::int64_t devices,
             const BoundsLeftOut& left_out)
      : estimator_(estimator),
        bounds_(bounds),
        space_(space),
        left_out_(left_out),
        bare_(places_for(divisors(devices).size())) {}

  /// Returns the bound without exchanges. The bound is shared by all meshes with equal numbers of
  /// stages and equal degrees that divide the batch, experts and contexts.
  [[nodiscard]] Seconds bare(const Plan& plan);
  /// Returns the smallest bound over all numbers of micro-batches. A number of micro-batches is
  /// skipped if its bound without exchanges exceeds the full bound of another number.
  [[nodiscard]] Seconds full(const Plan& plan);

  /// Returns a lower bound for all plans with these degrees and this number of micro-batches.
  [[nodiscard]] Seconds of(const Plan& plan);

  /// Returns the bounds without exchanges of all numbers of micro-batches, in ascending order; without a pipeline, only the
  /// bound of the fewest micro-batches. The reference is valid until the next call of any method.
  using BareBounds = std::vector<TimeBounds::BySize>;
  [[nodiscard]] const BareBounds& by_micro_batches(const Plan& plan);

 private:
  /// Returns a lower bound of the time of layer-wise exchanges for each sample, for all searched placements and choices.
  [[nodiscard]] Seconds exchanges_of_sample(const Plan& plan);

  const Estimator& estimator_;
  const TimeBounds& bounds_;
  const VariantSpace& space_;
  const BoundsLeftOut& left_out_;
  /// The family, the numbers of parts of the batch, stages, experts and contexts.
  using Alike = LatestValues<double, 5>::Key;
  [[nodiscard]] Alike alike(const Plan& plan) const;
  /// The number of bounds in cached lists.
  static constexpr std::size_t kept_bounds = 1U << 18U;
  using Lists = std::map<Alike, BareBounds>;
  Lists known_, earlier_;  ///< results of by_micro_batches(): those that were used lately, and those that were used before
  std::size_t known_bounds_ = 0;
  LatestValues<double, 5> bare_;  ///< results of bare(), in seconds
  /// The number of meshes with cached exchanges.
  static constexpr std::size_t kept_exchanges = 1U << 12U;
  std::map<Mesh, Seconds> exchanges_;  ///< results of exchanges_of_sample()
};

}  // namespace ddl
