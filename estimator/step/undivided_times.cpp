#include "estimator/step/undivided_times.hpp"

#include <cstddef>
#include <cstdint>

#include "estimator/kernels/shard_problems.hpp"
#include "estimator/kernels/shard_times.hpp"
#include "estimator/layers/host_launches.hpp"
#include "estimator/layers/stage_balance.hpp"
#include "estimator/strategies/context.hpp"
#include "estimator/strategies/strategy.hpp"

namespace ddl {

Mesh kernel_axes_of(const Mesh& mesh) {
  Mesh own;
  for (const Axis axis : {Axis::expert, Axis::context}) own.set(axis, mesh[axis]);
  return own;
}

Mesh without_contexts(Mesh mesh) {
  mesh.set(Axis::context, 1);
  return mesh;
}

bool exchanges_heads(const Job& job, const Mesh& mesh) {
  Plan plan;
  plan.mesh = kernel_axes_of(mesh);
  return mesh[Axis::context] > 1 && may_divide_heads(job.facts, plan);
}

namespace {

/// The layers of all ranks that process the same samples, in a mesh that has only the axes of `kernel_axes_of`.
class UndividedLayers {
 public:
  UndividedLayers(const Job& job, double samples, const Mesh& mesh)
      : contexts_(mesh[Axis::context]),
        may_exchange_heads_(exchanges_heads(job, mesh)),
        in_ring_(layers_of(job, samples, mesh)),
        of_heads_(layers_of(job, samples, without_contexts(mesh))) {}

  /// Returns `time(context, shard)` for a layer, as the minimum over the two exchanges of contexts.
  template <class Time>
  [[nodiscard]] Seconds least(std::size_t layer, const Time& time) {
    const ShardContext& context = in_ring_.at(layer);
    const Seconds in_ring = time(context, in_ring_.shard()) * contexts_;
    if (!may_exchange_heads_ || !context.at().operation->is_attention()) return in_ring;
    return min(in_ring, time(of_heads_.at(layer), of_heads_.shard()));
  }

 private:
  static WholeLayers layers_of(const Job& job, double samples, const Mesh& mesh) {
    return {job.facts, samples, job.kernels.precision(), job.kernels.optimizer(), job.assumptions, mesh};
  }
  double contexts_;
  bool may_exchange_heads_;
  WholeLayers in_ring_, of_heads_;
};

}  // namespace

template <class Time>
const std::vector<Seconds>& UndividedTimes::running_sums(Sums& known, double samples, const Mesh& mesh,
                                                         const Time& time) const {
  std::vector<Seconds>& sums = known[{samples, mesh}];
  if (!sums.empty()) return sums;
  const LayerKinds& kinds = tables_.kinds_of(ReplicatedLayers{});
  UndividedLayers layers(job_, samples, mesh);
  std::vector<Seconds> times;  // times of each kind of layer
  for (const int layer : kinds.representative) times.push_back(layers.least(static_cast<std::size_t>(layer), time));
  sums.resize(kinds.kind.size() + 1);
  for (std::size_t i = 0; i < kinds.kind.size(); ++i) sums[i + 1] = sums[i] + times[static_cast<std::size_t>(kinds.kind[i])];
  return sums;
}

WholeTime UndividedTimes::by_stage(const std::vector<Seconds>& sums, int stage_count) const {
  if (stage_count == 1) return {sums.back(), sums.back()};
  const auto& levels = tables_.places(stage_count, {}, 1).levels();
  if (levels.empty()) return {sums.back(), Seconds{}};
  std::vector<StageLoad> before;
  for (const int place : levels.back()) before.push_back({.forward = sums[static_cast<std::size_t>(place)]});
  return {sums.back(), StageBalance(before, {}, stage_count).shortest() / (1 + cut_rounding)};
}

WholeTime UndividedTimes::whole(double samples, int stage_count, const Mesh& mesh) const {
  TimesBySamples& times_by_samples = whole_times_[{stage_count, mesh}];
  const auto known = times_by_samples.find(samples);
  if (known != times_by_samples.end()) return known->second;
  const auto& sums = running_sums(whole_, samples, mesh, [&](const ShardContext& context, const LayerShard& shard) {
    return kernels_time(job_, context, shard);
  });
  return times_by_samples.emplace(samples, by_stage(sums, stage_count)).first->second;
}

WholeTime UndividedTimes::least(double samples, int stage_count, const Mesh& mesh) const {
  const ShardTimes* measured = job_.kernels.measured();
  if (job_.times_whole_layers() || job_.assumptions.linear_kernels ||
      (measured == nullptr && !job_.kernels.has_formulas())) {
    return job_.facts.tables.empty() ? whole(samples, stage_count, mesh) : WholeTime();
  }
  TimesBySamples& times_by_samples = least_times_[{stage_count, mesh}];
  const auto known = times_by_samples.find(samples);
  if (known != times_by_samples.end()) return known->second;
  const auto& sums = running_sums(least_, samples, mesh, [&](const ShardContext& context, const LayerShard& shard) {
    if (job_.facts.is_of_table(context.index())) return Seconds{};  // distributed tables may take any part of this time
    if (measured != nullptr) return measured->least(context, shard);
    Seconds sum{};
    for (const Pass pass : {Pass::forward, Pass::backward_weight, Pass::backward_data}) {
      if (pass == Pass::backward_data && !job_.facts.needs_input_gradient[context.index()]) continue;
      if (pass == Pass::backward_weight && job_.facts.frozen[context.index()]) continue;
      sum += job_.kernels.least_pass_time(context.index(), *context.operation(shard), pass, shard.inputs, shard.output,
                                          shard.samples, precision_of(context));
    }
    return sum;
  });
  return times_by_samples.emplace(samples, by_stage(sums, stage_count)).first->second;
}

const UndividedTimes::Launch& UndividedTimes::launch(double batch, const Mesh& mesh) const {
  const std::pair key(batch, mesh);
  const auto known = launches_.find(key);
  if (known != launches_.end()) return known->second;
  Launch host;
  const Seconds start = launch_overhead(job_);
  if (start > Seconds{}) {
    Plan alone;
    alone.mesh = mesh;
    alone.global_batch = static_cast<std::int64_t>(batch) * mesh.batch_parts();
    alone.precision = job_.kernels.precision();
    alone.optimizer = job_.kernels.optimizer();
    const LayerCosts costs = LayerCostTable(job_, alone, tables_.kinds_of(ReplicatedLayers{})).total();
    host = {start * (costs[LayerCount::forward_kernels] + costs[LayerCount::backward_kernels]),
            costs.idle_forward(start) + costs.idle_backward(start)};
  }
  return launches_.emplace(key, host).first->second;
}

}  // namespace ddl
