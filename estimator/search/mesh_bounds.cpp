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
    const Seconds least = left_out_[SearchBound::size] ? Seconds{} : bounds_.least(Closeness::size, plan);
    known.emplace_back(least.value(), micro_batches);
    if (plan.mesh[Axis::pipeline] == 1) break;  // without a pipeline, a single micro-batch is fastest
  }
  std::sort(known.begin(), known.end());
  return known;
}

Seconds MeshBounds::exchanges_of_sample(const Plan& plan) {
  // The bound by degrees contains the exchanges of other axes. Vision models have the most meshes, and their bounds by
  // degrees are close.
  constexpr Family axes = family_bit(Axis::tensor) | family_bit(Axis::context) | family_bit(Axis::expert);
  if (!estimator_.job().facts.model->input.sequence || (plan.mesh.family() & axes) == 0) return {};
  const auto known = exchanges_.find(plan.mesh);
  if (known != exchanges_.end()) return known->second;
  Seconds least(std::numeric_limits<double>::infinity());
  for (const Placement& placement : space_.placements(plan)) {
    for (Plan way : ways_to_divide(estimator_.job().facts, plan)) {
      way.placement = placement;
      if (least > Seconds{}) least = min(least, bounds_.exchanges_of_sample(way));
    }
  }
  if (exchanges_.size() >= kept_exchanges) exchanges_.clear();
  return exchanges_[plan.mesh] = least;
}

Seconds MeshBounds::of(const Plan& plan) {
  if (left_out_[SearchBound::degrees]) return Seconds(by_micro_batches(plan).front().first);
  return bounds_.by_degrees(plan, exchanges_of_sample(plan));
}

Seconds MeshBounds::full(Plan plan) {
  Seconds least(std::numeric_limits<double>::max());
  for (const auto& [bare, micro_batches] : by_micro_batches(plan)) {
    if (bare >= least.value()) break;
    plan.micro_batches = micro_batches;
    least = min(least, of(plan));
  }
  return least;
}

}  // namespace ddl
