#include "estimator/search/granularity.hpp"

#include <algorithm>

#include "estimator/step/estimate.hpp"
#include "model_zoo/network/work_depth.hpp"

namespace ddl {
namespace {

Seconds smallest_node_time(const Job& job, double samples) {
  std::optional<Seconds> smallest;
  for (std::size_t i = 0; i < job.facts.model->layers.size(); ++i) {
    const Layer& layer = job.facts.model->layers[i];
    if (layer.operation->work(Pass::forward, layer.input_shapes, layer.output_shape).flops <= 0) continue;
    const Seconds time = job.kernels.pass_time(i, *layer.operation, Pass::forward, layer.input_shapes, layer.output_shape,
                                               samples, job.kernels.precision());
    smallest = smallest ? min(*smallest, time) : time;
  }
  return smallest.value_or(Seconds{});
}

std::optional<double> ratio(Seconds over, Seconds under) {
  if (under.value() <= 0) return std::nullopt;
  return over / under;
}

}  // namespace

std::optional<double> LevelGrain::data_parallel() const { return ratio(computing, communicating); }
std::optional<double> LevelGrain::graph() const { return ratio(smallest_node, largest_edge); }

std::vector<LevelGrain> level_grains(const Job& job, Precision precision, Optimizer optimizer, std::int64_t batch) {
  const Model& model = *job.facts.model;
  const auto samples = static_cast<double>(batch);
  const Seconds smallest_node = smallest_node_time(job, samples);
  const int largest = graph_grain(model).largest_edge;
  const Estimator estimator(job);
  std::vector<LevelGrain> grains;
  std::int64_t devices = 1;
  for (const LinkLevel& level : job.machine.levels) {
    devices *= level.units;
    Plan plan;
    plan.mesh.set(Axis::data, static_cast<int>(devices));
    plan.global_batch = devices * batch;
    plan.precision = precision;
    plan.optimizer = optimizer;
    const Estimate estimate = estimator.estimate(plan);
    LevelGrain grain{.name = level.name,
                     .devices = devices,
                     .computing = estimate.time.compute(),
                     .communicating = estimate.time[Part::gradient_exchange],
                     .smallest_node = smallest_node};
    if (largest >= 0) {
      const Bytes tensor(static_cast<double>(shape_of(model, largest).items()) * samples * item_bytes(precision));
      grain.largest_edge = level.latency + tensor / level.bandwidth;
    }
    grains.push_back(grain);
  }
  return grains;
}

}  // namespace ddl
