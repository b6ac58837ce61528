#include "estimator/step/host_traffic.hpp"

#include <algorithm>

#include "estimator/kernels/kernel_time.hpp"
#include "estimator/memory/memory.hpp"

namespace ddl {
namespace {

/// Returns the share of the host's memory bandwidth that one rank has: the ranks of the plan on a node divide it. If the
/// machine file does not give the bandwidth, 25 GB/s for each device of the node are assumed, which is an eighth of eight
/// channels of DDR4-3200. A rank has at most 100 GB/s, which is half of these channels.
Bandwidth host_memory_bandwidth(const Machine& machine, const Plan& plan) {
  constexpr double of_device = 25e9, of_process = 100e9;
  const double devices = machine.devices_per_node();
  const double ranks = std::min(devices, static_cast<double>(plan.mesh.devices()));
  // The threads of one process are assumed to fill half of the channels.
  if (machine.host && machine.host->memory_bandwidth)
    return Bandwidth(machine.host->memory_bandwidth->value() / std::max(2.0, ranks));
  return Bandwidth(std::min(of_process, of_device * devices / ranks));
}

}  // namespace

Bandwidth host_link(const Machine& machine) {
  if (!machine.host) return Bandwidth{};
  return Bandwidth(machine.host->bandwidth.value() / std::max(1, machine.host->devices_per_link));
}

Seconds host_update_time(const Job& job, const Plan& plan, double trained) {
  const double link = host_link(job.machine).value();
  if (link <= 0) return Seconds{};
  const ParameterBytes each = parameter_bytes(job.facts, plan, job.assumptions);
  // If gradients are added to fp32 sums, these sums are transferred, not the gradients.
  const bool sums = is_mixed(plan.precision) && job.assumptions.mixed_precision == MixedPrecision::accumulated;
  const double moved = trained * ((sums ? 4 : each.gradient) + item_bytes(plan.precision));
  const double touched = trained * update_bytes_per_parameter(plan.optimizer, plan.precision);
  return Seconds(moved / link + touched / host_memory_bandwidth(job.machine, plan).value());
}

Seconds weights_from_host(const Job& job, const Plan& plan, double parameters) {
  const double link = host_link(job.machine).value();
  // Frozen weights in another format are stored and copied in that format.
  const double bytes =
      job.assumptions.base ? parameter_bytes(job.facts, plan, job.assumptions).weight : item_bytes(plan.precision);
  return link > 0 ? Seconds(parameters * bytes / link) : Seconds{};
}

Bytes host_parameters(const Job& job, const Plan& plan) {
  if (plan.offload == Offload::none) return Bytes{};
  const ParameterBytes each = parameter_bytes(job.facts, plan, job.assumptions);
  const double ranks = static_cast<double>(plan.mesh.devices());
  const double on_node = std::min<double>(ranks, job.machine.devices_per_node());
  // The bytes of all ranks together, counting each replica.
  const double replicas = plan.mesh.replicas(), copies = plan.zero_stage >= 1 ? plan.shard_copies() : replicas;
  Bytes all(job.facts.trained_parameters * each.optimizer * copies);
  const double weights = plan.zero_stage >= 3 ? plan.shard_copies() : replicas;
  if (plan.offload == Offload::weights) all += Bytes(job.facts.parameters * each.weight * weights);
  return all * (on_node / ranks);
}

}  // namespace ddl
