#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "core/quantity.hpp"
#include "estimator/plan/plan.hpp"
#include "estimator/search/search_bounds.hpp"
#include "estimator/search/time_bounds.hpp"
#include "estimator/search/variants.hpp"
#include "estimator/step/estimate.hpp"

namespace ddl {

/// Lower bounds of the time of all plans with the same degrees.
class MeshBounds {
 public:
  MeshBounds(const Estimator& estimator, const TimeBounds& bounds, const VariantSpace& space, const BoundsLeftOut& left_out)
      : estimator_(estimator), bounds_(bounds), space_(space), left_out_(left_out) {}

  /// Returns the bound without exchanges. The bound is shared by all meshes with equal numbers of
  /// stages and equal degrees that divide the batch, experts and contexts.
  [[nodiscard]] Seconds bare(const Plan& plan) { return Seconds(by_micro_batches(plan).front().first); }
  /// Returns the smallest bound over all numbers of micro-batches. A number of micro-batches is
  /// skipped if its bound without exchanges exceeds the full bound of another number.
  [[nodiscard]] Seconds full(Plan plan);

  /// Returns a lower bound for all plans with these degrees and this number of micro-batches.
  [[nodiscard]] Seconds of(const Plan& plan);

  /// Bounds in ascending order; each bound belongs to a number of micro-batches.
  using BareBounds = std::vector<std::pair<double, std::int64_t>>;
  /// Returns the bounds without exchanges; without a pipeline, only the bound of the fewest micro-batches.
  [[nodiscard]] const BareBounds& by_micro_batches(Plan plan);

 private:
  /// Returns a lower bound of the time of layer-wise exchanges for each sample, for all searched placements and choices.
  [[nodiscard]] Seconds exchanges_of_sample(const Plan& plan);

  const Estimator& estimator_;
  const TimeBounds& bounds_;
  const VariantSpace& space_;
  const BoundsLeftOut& left_out_;
  std::map<std::tuple<Family, std::int64_t, int, int, int>, BareBounds> known_;
  /// The number of meshes with cached exchanges.
  static constexpr std::size_t kept_exchanges = 1U << 12U;
  std::map<Mesh, Seconds> exchanges_;  ///< results of exchanges_of_sample()
};

}  // namespace ddl
