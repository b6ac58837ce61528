#include "estimator/layers/split_tables.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "estimator/choices/plan_choice.hpp"
#include "estimator/strategies/spatial.hpp"

namespace ddl {

Plan without_batch(Plan plan) {
  plan.global_batch = 1;
  plan.micro_batches = 1;
  return plan;
}

const SplitTables::Split& SplitTables::split(const Plan& plan) const {
  if (of_latest_ != nullptr && latest_ == plan) return *of_latest_;
  latest_ = plan;
  of_latest_ = nullptr;
  const Plan key = split_of(plan);
  const auto holds = [&](const Split& known) { return known.costs && known.plan == key; };
  auto found = std::find_if(splits_.begin(), splits_.end(), holds);
  const bool is_same = found != splits_.end();
  if (!is_same) {
    found =
        std::min_element(splits_.begin(), splits_.end(), [](const Split& a, const Split& b) { return a.asked < b.asked; });
  }
  Split& split = *found;
  split.asked = ++asked_;
  of_latest_ = &split;
  if (is_same && plan.placement == split.placement) return split;
  if (is_same) {
    split.costs->place(plan.placement);
  } else {
    const Kernels* const kernels = this->kernels(plan);
    split.costs = std::make_unique<LayerCostTable>(job_, plan, kinds_of(plan), false,
                                                   kernels == nullptr ? nullptr : &kernels->of_kinds, &known_times_);
    split.plan = key;
    split.slot = static_cast<std::size_t>(found - splits_.begin());
    split.number = ++numbers_;
  }
  split.placement = plan.placement;
  split.placing = ++numbers_;
  return split;
}

const SplitTables::Kernels* SplitTables::kernels(const Plan& plan) const {
  const bool is_fitted = job_.assumptions.learned && !job_.coefficients.learned.empty();
  if (is_fitted || !plan.segments.empty() || !job_.facts.tables.empty()) return nullptr;
  Plan alone = split_of(plan);
  alone.mesh.set(Axis::data, 1);
  alone.mesh.set(Axis::pipeline, 1);
  const double samples = samples_per_micro_batch(plan);
  const KernelKey key(alone.mesh, samples, plan.precision, plan.sequence_parallel, plan.context_exchange,
                      plan.whole_experts);
  auto& [kinds, all] = of_kinds(replicated_layers_of(plan));
  const auto found = all.find(key);
  if (found != all.end()) return &found->second;
  if (all.size() >= kept_kernels) all.clear();
  alone.micro_batches = 1;
  alone.global_batch = alone.mesh.batch_parts() * std::llround(samples);
  Kernels& known = all[key];
  known.of_kinds = kernel_costs(job_, alone, kinds);
  for (std::size_t kind = 0; kind < known.of_kinds.size(); ++kind)
    known.all += (known.of_kinds[kind].forward + known.of_kinds[kind].backward) * kinds.count[kind];
  return &known;
}

const SplitTables::SlopeTable& SplitTables::slope_table(const Plan& plan) const {
  const Plan split = split_of(plan);
  if (!slope_table_ || slope_table_->split != split)
    slope_table_ = std::make_unique<SlopeTable>(job_, split, plan, kinds_of(plan));
  SlopeTable& slope_table = *slope_table_;
  if (slope_table.placement == plan.placement) return slope_table;
  slope_table.costs.place(plan.placement);
  slope_table.placement = plan.placement;
  slope_table.details.clear();
  for (const int layer : slope_table.costs.kinds().representative)
    slope_table.details.push_back(slope_table.costs.detail(layer, false));
  return slope_table;
}

LayerCostTable SplitTables::costs_with_slopes(const Plan& plan) const { return {job_, plan, kinds_of(plan), true}; }

const ExchangeTimes& SplitTables::exchanges(const Plan& plan) const {
  if (!placed_.empty() && placed_.front()->plan.mesh != plan.mesh) placed_.clear();
  for (const auto& known : placed_) {
    if (known->plan.placement == plan.placement) return known->exchanges;
  }
  return placed_.emplace_back(std::make_unique<Placed>(plan, job_, known_times_))->exchanges;
}

ReplicatedLayers SplitTables::replicated_layers_of(const Plan& plan) const {
  if (plan.mesh[Axis::spatial] == 1) return {};
  auto known = replicated_layers_.find(plan.mesh.tiles());
  if (known == replicated_layers_.end()) {
    known =
        replicated_layers_.emplace(plan.mesh.tiles(), replicated_layers(job_.facts, plan, job_.coefficients.software)).first;
  }
  return known->second;
}

SplitTables::OfKinds& SplitTables::of_kinds(const ReplicatedLayers& replicated) const {
  const auto known = kinds_.find(replicated);
  if (known != kinds_.end()) return known->second;
  LayerKinds kinds = layer_kinds(job_.facts, job_.kernels.serial(), replicated, job_.assumptions.selective);
  return kinds_.emplace(replicated, OfKinds{std::move(kinds)}).first->second;
}

const LayerKinds& SplitTables::kinds_of(const ReplicatedLayers& replicated) const { return of_kinds(replicated).kinds; }

const LayerKinds& SplitTables::kinds_of(const Plan& plan) const {
  if (plan.segments.empty()) {
    const LayerKinds& alike = kinds_of(replicated_layers_of(plan));
    if (plan.table_segments.empty()) return alike;
    const std::tuple ways(plan.mesh.tiles(), plan.tables, plan.table_segments);
    const auto known = table_kinds_.find(ways);
    if (known != table_kinds_.end()) return known->second;
    return table_kinds_.emplace(ways, table_kinds(job_.facts, plan, alike)).first->second;
  }
  const std::tuple key(plan.mesh, plan.segments, plan.sequence_parallel);
  const auto kinds = segment_kinds_.find(key);
  if (kinds != segment_kinds_.end()) return kinds->second;
  std::vector<LayoutOfMesh> layouts;
  std::vector<const LayerKinds*> of_mesh;
  for (const Mesh& mesh : meshes_of(plan)) {
    layouts.push_back({mesh, replicated_layers_of(on_mesh(plan, mesh)), plan.sequence_parallel});
    of_mesh.push_back(&kinds_of(layouts.back().replicated));
  }
  return segment_kinds_.emplace(key, segment_kinds(job_.facts, plan, std::move(layouts), of_mesh)).first->second;
}

const StagePlaces& SplitTables::places(int stages, const ReplicatedLayers& replicated, double tiles) const {
  const auto key = std::tuple(stages, replicated, tiles);
  const auto known = places_.find(key);
  if (known != places_.end()) return known->second;
  return places_.emplace(key, StagePlaces(job_.facts, stages, replicated, tiles)).first->second;
}

const StagePlaces& SplitTables::places_of(const Plan& plan) const {
  return places(plan.mesh[Axis::pipeline], replicated_layers_of(plan), plan.mesh[Axis::spatial]);
}

}  // namespace ddl
