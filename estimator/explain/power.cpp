#include "estimator/explain/power.hpp"

#include <algorithm>
#include <cmath>

namespace ddl {
namespace {

/// The share of the time of kernels that layers with matrix products or convolutions take.
double product_share(const Job& job, const Explanation& explanation) {
  Seconds products{}, all{};
  for (const LayerExplanation& each : explanation.layers) {
    const Layer& layer = job.facts.model->layers[static_cast<std::size_t>(each.layer)];
    const Seconds time = each.time[Part::forward] + each.time[Part::backward];
    all += time;
    if (layer.operation->unmasked_macs(layer.input_shapes, layer.output_shape) > 0) products += time;
  }
  return all > Seconds{} ? products / all : 0.0;
}

}  // namespace

std::optional<Power> power_of(const Job& job, const Explanation& explanation, const PowerShares& shares) {
  const Breakdown& time = explanation.estimate.time;
  const Seconds step = time.step_time();
  const double limit = job.machine.device.power;
  if (!explanation.has_time() || step.value() <= 0 || limit <= 0) return std::nullopt;
  Power power;
  power.product_share = product_share(job, explanation);
  // The breakdown is that of the longest stage. Devices of the other stages compute for a shorter time, and wait.
  const double mean_stage = 1 / (1 + std::max(0.0, explanation.estimate.imbalance));
  const double kernels = (time[Part::forward] + time[Part::backward]) / step * mean_stage;
  const double update = time[Part::weight_update] / step;
  const double exchanges =
      (time[Part::gradient_exchange] + time[Part::layer_collectives] + time[Part::halo] + time[Part::pipeline]) / step;
  const double waiting = std::max(0.0, 1 - kernels - update - exchanges);
  // Under a reduced limit, no activity draws more than the limit.
  const double most = job.assumptions.power_limit.value_or(limit) / limit;
  const double products = std::min(shares.products, most), memory = std::min(shares.memory, most);
  const double of_kernels = power.product_share * products + (1 - power.product_share) * memory;
  power.device = limit * (kernels * of_kernels + update * memory + exchanges * std::min(shares.communication, most) +
                          waiting * std::min(shares.waiting, most));
  if (job.machine.host && job.machine.host->power) {
    // Devices that the plan does not use wait.
    const double all = job.machine.devices_per_node();
    const auto devices = static_cast<double>(explanation.estimate.plan.mesh.devices());
    const double used = devices / std::ceil(devices / all);
    power.node = *job.machine.host->power + power.device * used + limit * shares.waiting * (all - used);
  }
  return power;
}

void add_power(std::vector<Estimate>& estimates, const Estimator& estimator) {
  for (Estimate& each : estimates) {
    if (each.time.step_time() > Seconds{}) each.power = power_of(estimator.job(), explain(estimator, each.plan));
  }
}

double energy_of(const Job& job, const Estimate& estimate, Seconds time) {
  if (!estimate.power) return 0;
  const Power& power = *estimate.power;
  const auto devices = static_cast<double>(estimate.plan.mesh.devices());
  const double nodes = std::ceil(devices / job.machine.devices_per_node());
  return (power.node ? *power.node * nodes : power.device * devices) * time.value() * job.assumptions.overhead_power;
}

}  // namespace ddl
