#include "estimator/search/mesh_bounds.hpp"

#include <limits>
#include <utility>

namespace ddl {

MeshBounds::Alike MeshBounds::alike(const Plan& plan) const {
  // Factors fitted to measured runs may make kernels faster. The factors differ between families.
  const Family family = estimator_.job().coefficients.learned.empty() ? 0 : plan.mesh.family();
  return {family, plan.mesh.batch_parts(), plan.mesh[Axis::pipeline], plan.mesh[Axis::expert], plan.mesh[Axis::context]};
}

const MeshBounds::BareBounds& MeshBounds::by_micro_batches(const Plan& plan) {
  const Alike key = alike(plan);
  const auto place = known_.find(key);
  if (place != known_.end()) return place->second;
  Lists::node_type list = earlier_.extract(key);
  BareBounds bounds = list.empty() ? bounds_.by_size(plan, space_.micro_batches(plan)) : std::move(list.mapped());
  if (left_out_[SearchBound::size]) {
    for (TimeBounds::BySize& each : bounds) each.bound = {};
  }
  if (known_bounds_ + bounds.size() > kept_bounds) {
    earlier_ = std::exchange(known_, {});
    known_bounds_ = 0;
  }
  known_bounds_ += bounds.size();
  return known_.emplace(key, std::move(bounds)).first->second;
}

Seconds MeshBounds::bare(const Plan& plan) {
  return Seconds(bare_.of(alike(plan), [&] { return by_micro_batches(plan).front().bound.value(); }));
}

Seconds MeshBounds::exchanges_of_sample(const Plan& plan) {
  // The bound by degrees contains the exchanges of other axes. Vision models have the most meshes, and their bounds by
  // degrees are close.
  constexpr Family axes = family_bit(Axis::tensor) | family_bit(Axis::context) | family_bit(Axis::expert);
  if (!estimator_.job().facts.model->input.sequence || (plan.mesh.family() & axes) == 0) return {};
  const auto known = exchanges_.find(plan.mesh);
  if (known != exchanges_.end()) return known->second;
  Seconds least(std::numeric_limits<double>::infinity());
  const std::vector<Placement> placements = space_.placements(plan);
  for (const Plan& way : ways_to_divide(estimator_.job().facts, plan)) {
    if (least > Seconds{}) least = min(least, bounds_.exchanges_of_sample(way, placements));
  }
  if (exchanges_.size() >= kept_exchanges) exchanges_.clear();
  return exchanges_[plan.mesh] = least;
}

Seconds MeshBounds::of(const Plan& plan) {
  if (left_out_[SearchBound::degrees]) return bare(plan);
  return bounds_.by_degrees(plan, exchanges_of_sample(plan));
}

Seconds MeshBounds::full(const Plan& plan) {
  if (left_out_[SearchBound::degrees]) return bare(plan);
  return bounds_.least_by_degrees(plan, exchanges_of_sample(plan), by_micro_batches(plan));
}

}  // namespace ddl
