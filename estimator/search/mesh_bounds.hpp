#pragma once

#include <cstdint>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "core/quantity.hpp"
#include "estimator/plan/plan.hpp"
#include "estimator/search/time_bounds.hpp"
#include "estimator/search/variants.hpp"
#include "estimator/step/estimate.hpp"

namespace ddl {

/// Lower bounds of the time of all plans with the degrees of one.
class MeshBounds {
 public:
  MeshBounds(const Estimator& estimator, const TimeBounds& bounds, const VariantSpace& space)
      : estimator_(estimator), bounds_(bounds), space_(space) {}

  /// The bound without exchanges, which meshes of as many stages and parts of the batch, of experts and of contexts share.
  [[nodiscard]] Seconds bare(const Plan& plan) { return Seconds(bare_bounds(plan).front().first); }
  /// The bound with whichever micro-batches suit the plan best. Micro-batches whose bound without exchanges is longer than
  /// another's bound are left out.
  [[nodiscard]] Seconds full(Plan plan);

 private:
  /// By micro-batches, the least one first.
  using BareBounds = std::vector<std::pair<double, std::int64_t>>;
  [[nodiscard]] const BareBounds& bare_bounds(Plan plan);

  const Estimator& estimator_;
  const TimeBounds& bounds_;
  const VariantSpace& space_;
  std::map<std::tuple<Family, std::int64_t, int, int, int>, BareBounds> known_;
};

}  // namespace ddl
