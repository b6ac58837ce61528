#include "estimator/search/mesh_bounds.hpp"

#include <algorithm>
#include <limits>

namespace ddl {

const MeshBounds::BareBounds& MeshBounds::by_micro_batches(Plan plan) {
  // Factors fitted to measured runs may make kernels faster. The factors differ between families.
  const Family family = estimator_.job().coefficients.learned.empty() ? 0 : plan.mesh.family();
  BareBounds& known = known_[{family, plan.mesh.batch_parts(), plan.mesh[Axis::pipeline], plan.mesh[Axis::expert],
                              plan.mesh[Axis::context]}];
  if (!known.empty()) return known;
  for (const std::int64_t micro_batches : space_.micro_batches(plan)) {
    plan.micro_batches = micro_batches;
    known.emplace_back(bounds_.least(Closeness::size, plan).value(), micro_batches);
    if (plan.mesh[Axis::pipeline] == 1) break;  // without a pipeline, a single micro-batch is fastest
  }
  std::sort(known.begin(), known.end());
  return known;
}

Seconds MeshBounds::full(Plan plan) {
  Seconds least(std::numeric_limits<double>::max());
  for (const auto& [bare, micro_batches] : by_micro_batches(plan)) {
    if (bare >= least.value()) break;
    plan.micro_batches = micro_batches;
    least = min(least, bounds_.least(Closeness::degrees, plan));
  }
  return least;
}

}  // namespace ddl
