#include "estimator/explain/goodput.hpp"

#include <algorithm>
#include <cmath>

#include "estimator/exchanges/synchronization.hpp"
#include "estimator/memory/memory.hpp"
#include "estimator/step/input.hpp"

namespace ddl {
namespace {

/// Exponents are limited, so that a training that never ends has a very small goodput instead of zero.
constexpr double most_exponent = 300;

double nodes_of(const Job& job, const Plan& plan) {
  return std::ceil(static_cast<double>(plan.mesh.devices()) / job.machine.devices_per_node());
}

/// The failures that the user states, else those of the machine. The unit comes with the interval.
Failures failures_of(const Job& job) {
  Failures failures = job.machine.failures;
  const Failures& asked = job.assumptions.recovery.failures;
  if (asked.interval) {
    failures.interval = asked.interval;
    failures.of = asked.of;
  }
  if (asked.restart) failures.restart = asked.restart;
  return failures;
}

/// The bandwidth of all nodes of a plan together to the storage of checkpoints; empty if it is unknown.
std::optional<Bandwidth> checkpoint_bandwidth(const Job& job, double nodes) {
  if (job.assumptions.recovery.checkpoint_bandwidth) return job.assumptions.recovery.checkpoint_bandwidth;
  const Storage& storage = job.machine.storage;
  // A rate of opened files says nothing about the bandwidth of a checkpoint.
  if (!storage.shared_per_node && !storage.shared_total) return std::nullopt;
  const std::optional<Bandwidth> each = shared_rate_of_node(job.machine);
  if (!each) return storage.shared_total;
  const Bandwidth together = *each * nodes;
  return storage.shared_total && *storage.shared_total < together ? storage.shared_total : together;
}

/// Sets the time for which a checkpoint stops the training, and the time of its background writing.
void set_checkpoint(const Job& job, const Plan& plan, Bytes bytes, FailureModel& model) {
  const Recovery& recovery = job.assumptions.recovery;
  const std::optional<Bandwidth> bandwidth = checkpoint_bandwidth(job, nodes_of(job, plan));
  const Seconds write = bandwidth ? bytes / *bandwidth : Seconds{};
  const bool is_asynchronous = recovery.writing == CheckpointWriting::asynchronous && job.machine.host.has_value();
  model.checkpoint = write;
  if (is_asynchronous) {
    // Each rank copies its part to the host's memory, over a link that some ranks share.
    const HostPath& host = *job.machine.host;
    const Bytes part = bytes / static_cast<double>(plan.mesh.devices());
    model.checkpoint = part * static_cast<double>(host.devices_per_link) / host.bandwidth;
    model.background = write;
  }
  if (recovery.checkpoint_time) model.checkpoint = *recovery.checkpoint_time;
}

}  // namespace

double goodput(const FailureModel& model, Seconds every) {
  const double mean = model.between_failures.value(), interval = every.value();
  const double lost = std::min((model.restart + model.background).value() / mean, most_exponent);
  const double cycle = std::min((interval + model.checkpoint.value()) / mean, most_exponent);
  return interval / (mean * std::exp(lost) * std::expm1(cycle));
}

Seconds best_checkpoint_interval(const FailureModel& model) {
  const double mean = model.between_failures.value(), wait = model.checkpoint.value();
  const double root = std::sqrt(wait / (2 * mean));
  const double best = wait < 2 * mean ? std::sqrt(2 * wait * mean) * (1 + root / 3 + root * root / 9) - wait : mean;
  return max(Seconds(best), model.background);
}

double waiting_for_repair(double in_repair, int spares) {
  double blocked = 1;
  for (int servers = 1; servers <= spares + 1; ++servers) blocked = in_repair * blocked / (servers + in_repair * blocked);
  return blocked;
}

Bytes checkpoint_bytes(const Job& job, const Plan& plan) {
  // Checkpoints do not contain low-precision copies for kernels. With mixed precision, weights of 2 bytes are saved.
  const Precision saved = is_mixed(plan.precision) ? Precision::bf16 : plan.precision;
  const double weight = parameter_bytes(plan.optimizer, saved, job.assumptions.mixed_precision).weight;
  // Checkpoints do not contain messages that workers without a barrier have in flight.
  Assumptions kept = job.assumptions;
  if (synchronization_of(plan, kept) != Synchronization::sync) {
    kept.synchronization = Synchronization::sync;
    kept.local_steps = 1;
  }
  const double state = parameter_bytes(job.facts, plan, kept).optimizer;
  return Bytes(job.facts.trained_parameters * (weight + state));
}

bool knows_failures(const Job& job) { return failures_of(job).interval.has_value(); }

bool knows_checkpoints(const Job& job) {
  return job.assumptions.recovery.checkpoint_time.has_value() || checkpoint_bandwidth(job, 1).has_value();
}

std::optional<Goodput> goodput_of(const Job& job, const Estimate& estimate, Seconds length) {
  const Failures failures = failures_of(job);
  const Seconds step = estimate.time.step_time();
  if (!failures.interval || !knows_checkpoints(job) || step.value() <= 0) return std::nullopt;
  const Recovery& recovery = job.assumptions.recovery;
  const Plan& plan = estimate.plan;
  const double nodes = nodes_of(job, plan);
  const double units = failures.of == FailingUnit::gpu    ? static_cast<double>(plan.mesh.devices())
                       : failures.of == FailingUnit::node ? nodes
                                                          : 1.0;
  Goodput result;
  result.model.between_failures = *failures.interval / units;
  result.model.restart = failures.restart.value_or(usual_restart);
  result.assumed_restart = !failures.restart.has_value();
  result.bytes = checkpoint_bytes(job, plan);
  set_checkpoint(job, plan, result.bytes, result.model);
  // A checkpoint follows a step, and begins when the one before is complete.
  result.is_best = !recovery.checkpoint_every.has_value();
  const Seconds every = recovery.checkpoint_every.value_or(best_checkpoint_interval(result.model));
  result.every = max(max(every, result.model.background), step);
  result.is_raised = !result.is_best && result.every > every;
  if (length > Seconds{} && length <= result.every) {
    result.has_checkpoints = false;
    result.every = length;
    result.model.checkpoint = result.model.background = Seconds{};
  }
  result.spare_nodes = recovery.spare_nodes;
  if (recovery.repair) {
    const double in_repair = *recovery.repair / result.model.between_failures;
    result.repair_share = waiting_for_repair(in_repair, static_cast<int>(recovery.spare_nodes));
  }
  result.share = goodput(result.model, result.every) * (1 - result.repair_share);
  return result;
}

}  // namespace ddl
