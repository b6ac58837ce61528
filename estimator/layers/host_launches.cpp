#include "estimator/layers/host_launches.hpp"

#include <cstdint>

#include "estimator/kernels/shard_problems.hpp"

namespace ddl {

Seconds launch_overhead(const Job& job) {
  if (!job.assumptions.host_launch) return Seconds{};
  if (job.coefficients.software.launch_overhead) return *job.coefficients.software.launch_overhead;
  // A measured step already includes the launch overhead.
  switch (job.kernels.origin()) {
    case KernelBasis::fitted:
    case KernelBasis::transferred:
    case KernelBasis::roofline:
      return job.machine.device.launch_overhead.value_or(Seconds{});
    default:
      return Seconds{};
  }
}

Seconds step_overhead(const Job& job) {
  return job.assumptions.host_launch ? job.coefficients.software.step_overhead.value_or(Seconds{}) : Seconds{};
}

Seconds fixed_waiting(const Job& job, const Plan& plan) {
  if (!job.assumptions.host_launch) return {};
  Seconds waiting = step_overhead(job);
  // The exchange starts when the last of n ranks has noticed its gradients. A rank looks for gradients once per cycle, so it
  // notices them after a uniformly distributed part of the cycle. The longest of n such times is n/(n+1) cycles on average.
  const double ranks = plan.mesh.replicas();
  if (ranks > 1) waiting += job.coefficients.software.exchange_cycle.value_or(Seconds{}) * (ranks / (ranks + 1));
  return waiting;
}

double launches_of(const Job& job, const TimedKernel& kernel) {
  // The launch overhead per kernel was fitted to steps whose casts and unfused operators were not counted. The fitted
  // overhead therefore includes the launches of these casts and operators.
  const bool is_separate = kernel.work && kernel.work->is_separate;
  if (kernel.is_overhead() || kernel.pass == cast_pass || is_separate || kernel.time <= Seconds{}) return 0;
  return kernel.phase == Phase::forward ? 1 : job.coefficients.software.backward_launches.value_or(1);
}

Seconds expert_launch_time(const Job& job, const ShardContext& context, const LayerShard& shard, const TimedKernel& kernel) {
  const double share = job.coefficients.software.expert_launches.value_or(0);
  if (share <= 0 || kernel.phase != Phase::forward || !kernel.work ||
      kernel.work->kernel_kind() != KernelKind::matrix_product) {
    return {};
  }
  const std::int64_t experts = context.operation(shard)->experts();
  if (experts <= 1) return {};
  return launch_overhead(job) * (share * static_cast<double>(experts) * (is_narrow(precision_of(context)) ? 2 : 1));
}

}  // namespace ddl
